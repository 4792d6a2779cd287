// SPDX-License-Identifier: Apache-2.0
//
// What loading libascend_deepep_ops_npu.so adds to a process: the kernels for NPU tensors and the target that makes
// their communicators. Layer: framework.
#include <torch/csrc/stable/library.h>

#include "contract/limits.h"
#include "framework/npu/acl.h"
#include "framework/npu/kernels.h"
#include "framework/npu/npu_communicator.h"
#include "framework/npu/ops/npu_device.h"
#include "framework/npu/ops/torch_stream.h"
#include "framework/npu/shmem.h"
#include "framework/ops/library_path.h"

namespace ascend_deepep::npu {
namespace {

void boxed_npu_owner(StableIValue* stack, uint64_t /*num_arguments*/, uint64_t /*num_outputs*/) {
    stack[0] = torch::stable::detail::from(ops::library_path_of(&boxed_npu_owner));
}

const bool is_target_registered = [] {
    const Kernels kernels{&ascend_deepep_launch_dispatch_v2, &ascend_deepep_launch_combine_v2, kKernelUbBytes};
    register_npu_target({&acl_runtime, &shmem_library, kernels, &current_call_stream});
    return true;
}();

}  // namespace
}  // namespace ascend_deepep::npu

STABLE_TORCH_LIBRARY_FRAGMENT(ascend_deepep, m) {
    m.def("npu_owner() -> str");
}

STABLE_TORCH_LIBRARY_IMPL(ascend_deepep, CompositeExplicitAutograd, m) {
    m.impl("npu_owner", &ascend_deepep::npu::boxed_npu_owner);
}

STABLE_TORCH_LIBRARY_IMPL(npu, PrivateUse1, m) {
    m.impl("dispatch_v2", &ascend_deepep::ops::boxed_dispatch<ascend_deepep::npu::npu_dispatch>);
    m.impl("combine_v2", &ascend_deepep::ops::boxed_combine<ascend_deepep::npu::npu_combine>);
}

STABLE_TORCH_LIBRARY_IMPL(ascend_deepep, PrivateUse1, m) {
    m.impl("ordered_dispatch_v2", &ascend_deepep::ops::boxed_dispatch<ascend_deepep::npu::npu_dispatch>);
    m.impl("ordered_combine_v2", &ascend_deepep::ops::boxed_combine<ascend_deepep::npu::npu_combine>);
}
