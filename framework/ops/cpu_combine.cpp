// SPDX-License-Identifier: Apache-2.0
//
// CPU kernel of npu::combine_v2: checks, allocates the output, runs the kernels on the twin. Layer: framework.
#include "framework/ops/cpu_call.h"
#include "framework/ops/cpu_output_pool.h"
#include "framework/ops/errors.h"

namespace ascend_deepep::ops {

Tensor cpu_combine(const CombineArguments& a) {
    const std::shared_ptr<Communicator> communicator = find_or_raise(a.group_ep);
    const op_host::CombineCall call = describe(a, aoti_torch_device_type_cpu());
    const op_host::Status status = communicator->check(call);
    if (!status.ok()) refuse_and_raise(*communicator, OperationKind::kCombine, status);

    const Tensor expand_x = contiguous(a.expand_x);
    const Tensor expert_ids = contiguous(a.expert_ids);
    const Tensor assist_info = contiguous(a.assist_info_for_combine);
    const Tensor ep_send_counts = contiguous(a.ep_send_counts);
    const Tensor expert_scales = contiguous(a.expert_scales);
    Tensor x_out = make_output({expert_ids.size(0), expand_x.size(1)}, dtype_code(expand_x));
    const bool is_weighted = expert_scales.numel() != 0;  // empty: a plain sum
    const CombineBuffers buffers{
        .expand_x = expand_x.data_ptr(),
        .expert_ids = static_cast<const int32_t*>(expert_ids.data_ptr()),
        .assist_info = static_cast<const int32_t*>(assist_info.data_ptr()),
        .ep_send_counts = static_cast<const int32_t*>(ep_send_counts.data_ptr()),
        .expert_scales = is_weighted ? static_cast<const float*>(expert_scales.data_ptr()) : nullptr,
        .x_out = x_out.data_ptr()};
    op_host::Status outcome;
    {
        const ReleasedGil released;
        outcome = communicator->combine(call, buffers);
    }
    raise_if_bad(outcome);
    return x_out;
}

}  // namespace ascend_deepep::ops
