// SPDX-License-Identifier: Apache-2.0
//
// Registers the CPU kernels: calls on CPU tensors run the kernels on the host twin. Layer: framework.
#include <torch/csrc/stable/library.h>

#include "framework/ops/cpu_device.h"
#include "framework/ops/cpu_output_pool.h"
#include "framework/ops/library_path.h"

namespace ascend_deepep::ops {
namespace {

void boxed_cpu_owner(StableIValue* stack, uint64_t /*num_arguments*/, uint64_t /*num_outputs*/) {
    stack[0] = torch::stable::detail::from(library_path_of(&boxed_cpu_owner));
}

void boxed_idle_output_bytes(StableIValue* stack, uint64_t /*num_arguments*/, uint64_t /*num_outputs*/) {
    stack[0] = torch::stable::detail::from(static_cast<int64_t>(idle_output_bytes()));
}

}  // namespace
}  // namespace ascend_deepep::ops

STABLE_TORCH_LIBRARY_FRAGMENT(ascend_deepep, m) {
    m.def("cpu_owner() -> str");
    m.def("idle_output_bytes() -> int");
}

STABLE_TORCH_LIBRARY_IMPL(ascend_deepep, CompositeExplicitAutograd, m) {
    m.impl("cpu_owner", &ascend_deepep::ops::boxed_cpu_owner);
    m.impl("idle_output_bytes", &ascend_deepep::ops::boxed_idle_output_bytes);
}

STABLE_TORCH_LIBRARY_IMPL(npu, CPU, m) {
    m.impl("dispatch_v2", &ascend_deepep::ops::boxed_dispatch<ascend_deepep::ops::cpu_dispatch>);
    m.impl("combine_v2", &ascend_deepep::ops::boxed_combine<ascend_deepep::ops::cpu_combine>);
    ascend_deepep::ops::set_mixed_device_kernels(&ascend_deepep::ops::cpu_dispatch, &ascend_deepep::ops::cpu_combine);
}

STABLE_TORCH_LIBRARY_IMPL(ascend_deepep, CPU, m) {
    m.impl("ordered_dispatch_v2", &ascend_deepep::ops::boxed_dispatch<ascend_deepep::ops::cpu_dispatch>);
    m.impl("ordered_combine_v2", &ascend_deepep::ops::boxed_combine<ascend_deepep::ops::cpu_combine>);
}
