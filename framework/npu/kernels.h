// SPDX-License-Identifier: Apache-2.0
//
// Launches of the kernels on an NPU. Layer: framework. Defined in launch.asc, the one file that the device compiler
// builds; host code of any compiler calls it.
#ifndef ASCEND_DEEPEP_FRAMEWORK_NPU_KERNELS_H
#define ASCEND_DEEPEP_FRAMEWORK_NPU_KERNELS_H

#include <cstdint>

// Asynchronous, in the order of `stream` (an aclrtStream). `num_cores`: AIV cores, all of which must be physical, since
// they poll each other. `ub_bytes`: kKernelUbBytes of contract/limits.h. `tiling`: DispatchTiling or CombineTiling in
// device memory, which must live until the kernel has ended.
extern "C" {
void ascend_deepep_launch_dispatch_v2(uint32_t num_cores, uint32_t ub_bytes, void* stream, void* tiling);
void ascend_deepep_launch_combine_v2(uint32_t num_cores, uint32_t ub_bytes, void* stream, void* tiling);
}

#endif  // ASCEND_DEEPEP_FRAMEWORK_NPU_KERNELS_H
