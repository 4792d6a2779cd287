// SPDX-License-Identifier: Apache-2.0
//
// The kernels of one policy, opened at run time: fast and sim lie side by side in one process. Layer: framework.
#ifndef ASCEND_DEEPEP_FRAMEWORK_RUNTIME_KERNEL_LIBRARY_H
#define ASCEND_DEEPEP_FRAMEWORK_RUNTIME_KERNEL_LIBRARY_H

#include <string>

#include "twin/runtime/kernel_table.h"

namespace ascend_deepep {

// `policy`: "fast" or "sim". The file beside this library, or the one that ASCEND_DEEPEP_KERNELS names. It stays open
// for the life of the process. Throws twin::FabricSetupError naming file and reason.
const twin::KernelTable& kernel_table(const std::string& policy);

}  // namespace ascend_deepep

#endif  // ASCEND_DEEPEP_FRAMEWORK_RUNTIME_KERNEL_LIBRARY_H
