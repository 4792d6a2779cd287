// SPDX-License-Identifier: Apache-2.0
//
// Arguments of the largest calls. Layer: op_host. The checks say whether they are legal.
#include "op_host/largest_calls.h"

#include <utility>

#include "contract/block.h"
#include "contract/token_layout.h"
#include "op_host/quant.h"

namespace ascend_deepep::op_host {
namespace {

TensorInfo given(Dtype dtype, std::vector<int64_t> shape) {
    TensorInfo info;
    info.is_present = true;
    info.dtype = dtype;
    info.shape = std::move(shape);
    return info;
}

CommonAttributes attributes(const CommunicatorLimits& limits, const CallChoices& choices) {
    CommonAttributes a;
    a.ep_world_size = limits.num_ranks;
    a.ep_rank_id = choices.rank;
    a.moe_expert_num = limits.num_experts;
    a.shared_expert_num = limits.shared_expert_num;
    a.shared_expert_rank_num = choices.shared_expert_rank_num;
    if (limits.per_expert_copies != 0) a.comm_alg = "fullmesh_v1";
    return a;
}

bool is_half_float(Dtype dtype) {
    return dtype == Dtype::kBf16 || dtype == Dtype::kFp16;
}

}  // namespace

DispatchCall largest_dispatch(const CommunicatorLimits& limits, const CallChoices& choices) {
    DispatchCall call;
    call.attributes = attributes(limits, choices);
    call.x = given(choices.x_dtype, {limits.max_tokens, limits.hidden});
    call.expert_ids = given(Dtype::kInt32, {limits.max_tokens, limits.num_topk});
    call.expert_scales = given(Dtype::kFp32, {limits.max_tokens, limits.num_topk});
    call.quant_mode = choices.quant_mode;
    if (choices.y_dtype.has_value()) call.y_dtype = number_of_dtype(*choices.y_dtype);
    if (choices.quant_mode == kQuantStatic) call.scales = given(Dtype::kFp32, {1});
    if (choices.quant_mode == kQuantPass && !is_half_float(choices.x_dtype)) {
        const auto groups = static_cast<int64_t>(ceil_div(limits.hidden, kScaleGroup));
        call.scales = given(Dtype::kFp32, {limits.max_tokens, groups});
    }
    return call;
}

CombineCall largest_combine(const CommunicatorLimits& limits, const CallChoices& choices,
                            const DispatchShapes& dispatched) {
    CombineCall call;
    call.attributes = attributes(limits, choices);
    const Dtype dtype = is_half_float(choices.x_dtype) ? choices.x_dtype : Dtype::kBf16;
    call.expand_x = given(dtype, {dispatched.capacity_rows, limits.hidden});
    call.expert_ids = given(Dtype::kInt32, {limits.max_tokens, limits.num_topk});
    call.assist_info_for_combine = given(Dtype::kInt32, {dispatched.assist_info});
    call.ep_send_counts = given(Dtype::kInt32, {dispatched.ep_recv_counts});
    call.expert_scales = given(Dtype::kFp32, {limits.max_tokens, limits.num_topk});
    call.expand_scales = given(Dtype::kFp32, {dispatched.expand_scales});
    call.comm_quant_mode = choices.comm_quant_mode;
    return call;
}

}  // namespace ascend_deepep::op_host
