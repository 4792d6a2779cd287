// SPDX-License-Identifier: Apache-2.0
//
// Arguments of the two operators as torch's boxed calls hand them over, and their form for op_host. Layer: framework.
// Shared by the kernels of all devices; exported by libascend_deepep_ops.so.
#ifndef ASCEND_DEEPEP_FRAMEWORK_OPS_ARGUMENTS_H
#define ASCEND_DEEPEP_FRAMEWORK_OPS_ARGUMENTS_H

#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/tensor.h>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>

#include "op_host/calls.h"

#define ASCEND_DEEPEP_OPS_EXPORT __attribute__((visibility("default")))

namespace ascend_deepep::ops {

using torch::stable::Tensor;
using OptionalTensor = std::optional<Tensor>;

struct DispatchArguments {
    Tensor x, expert_ids;
    OptionalTensor scales, x_active_mask, expert_scales, elastic_info, performance_info;
    std::string group_ep;
    op_host::CommonAttributes attributes;
    int64_t quant_mode = 0;
    int64_t expert_token_nums_type = 1;
    std::optional<int64_t> y_dtype, x_dtype, scales_dtype;
};

struct CombineArguments {
    Tensor expand_x, expert_ids, assist_info_for_combine, ep_send_counts, expert_scales;
    OptionalTensor tp_send_counts, x_active_mask, expand_scales, shared_expert_x, elastic_info, ori_x;
    OptionalTensor const_expert_alpha_1, const_expert_alpha_2, const_expert_v, performance_info;
    std::string group_ep;
    op_host::CommonAttributes attributes;
    int64_t comm_quant_mode = 0;
};

// expand_x, dynamic_scales, assist_info, expert_token_nums, ep_recv_counts, tp_recv_counts, expand_scales
using DispatchOutputs = std::array<Tensor, 7>;

// Shape and dtype (torch's number) of each output; zeros where no kernel writes it.
struct OutputSpec {
    int64_t rows;
    int64_t columns;  // 0: one dimension
    int32_t dtype;
    bool is_zeros;
};
ASCEND_DEEPEP_OPS_EXPORT std::array<OutputSpec, 7> output_specs(const DispatchArguments& arguments,
                                                                const op_host::DispatchShapes& shapes);

// Take the arguments off the stack of a boxed kernel (and with them the ownership), in schema order.
ASCEND_DEEPEP_OPS_EXPORT DispatchArguments read_dispatch(StableIValue* stack, uint64_t num_arguments);
ASCEND_DEEPEP_OPS_EXPORT CombineArguments read_combine(StableIValue* stack, uint64_t num_arguments);

// What op_host checks. `device` is where the tensors have to be.
ASCEND_DEEPEP_OPS_EXPORT op_host::DispatchCall describe(const DispatchArguments& arguments,
                                                        op_host::TensorDevice device);
ASCEND_DEEPEP_OPS_EXPORT op_host::CombineCall describe(const CombineArguments& arguments, op_host::TensorDevice device);

// torch's own number of the dtype (aoti_torch_dtype_*).
ASCEND_DEEPEP_OPS_EXPORT int32_t dtype_code(const Tensor& tensor);

// An uninitialised contiguous tensor of one or two dimensions from torch's own allocator of that device, which on an
// NPU orders the memory with the current stream. `device_type` is torch's number (aoti_torch_device_type_*).
ASCEND_DEEPEP_OPS_EXPORT Tensor empty_tensor(std::initializer_list<int64_t> shape, int32_t dtype, int32_t device_type,
                                             int32_t device_index);

// Kernels as the libraries know each other's: torch sends a call whose tensors lie on `meta` and on another device to
// the Meta kernel. Only kernels that have communicators can tell the other ranks of the refusal, so Meta hands it on.
using DispatchKernel = DispatchOutputs (*)(const DispatchArguments&);
using CombineKernel = Tensor (*)(const CombineArguments&);
ASCEND_DEEPEP_OPS_EXPORT void set_mixed_device_kernels(DispatchKernel dispatch, CombineKernel combine);

// Boxed kernels over unboxed ones.
template <DispatchKernel kernel>
void boxed_dispatch(StableIValue* stack, uint64_t num_arguments, uint64_t /*num_outputs*/) {
    const DispatchOutputs outputs = kernel(read_dispatch(stack, num_arguments));
    for (size_t i = 0; i < outputs.size(); ++i)
        stack[i] = torch::stable::detail::from(outputs[i]);
}

template <CombineKernel kernel>
void boxed_combine(StableIValue* stack, uint64_t num_arguments, uint64_t /*num_outputs*/) {
    stack[0] = torch::stable::detail::from(kernel(read_combine(stack, num_arguments)));
}

}  // namespace ascend_deepep::ops

#endif  // ASCEND_DEEPEP_FRAMEWORK_OPS_ARGUMENTS_H
