// SPDX-License-Identifier: Apache-2.0
//
// Checks of combine_v2. Layer: op_host. The same order as for dispatch_v2. What the tensors of a dispatch hold is
// checked by the kernel, before the first row leaves.
#include "contract/tiling_data.h"
#include "op_host/check.h"
#include "op_host/check_rows.h"

namespace ascend_deepep::op_host {
namespace {

using Context = CombineContext;

constexpr TensorRow<CombineCall> kTensors[] = {
    {Field::kExpandX, &CombineCall::expand_x, true},
    {Field::kExpertIds, &CombineCall::expert_ids, true},
    {Field::kAssistInfo, &CombineCall::assist_info_for_combine, true},
    {Field::kEpSendCounts, &CombineCall::ep_send_counts, true},
    {Field::kExpertScales, &CombineCall::expert_scales, false},
    {Field::kTpSendCounts, &CombineCall::tp_send_counts, false},
    {Field::kXActiveMask, &CombineCall::x_active_mask, false},
    {Field::kExpandScales, &CombineCall::expand_scales, false},
    {Field::kSharedExpertX, &CombineCall::shared_expert_x, false},
    {Field::kElasticInfo, &CombineCall::elastic_info, false},
    {Field::kOriX, &CombineCall::ori_x, false},
    {Field::kConstExpertAlpha1, &CombineCall::const_expert_alpha_1, false},
    {Field::kConstExpertAlpha2, &CombineCall::const_expert_alpha_2, false},
    {Field::kConstExpertV, &CombineCall::const_expert_v, false},
    {Field::kPerformanceInfo, &CombineCall::performance_info, false},
};

Finding at_least(const TensorInfo& tensor, int64_t rows) {
    return {extent(tensor, 0) < rows, extent(tensor, 0), rows};
}

// Tensors that are summed or multiplied with expert outputs have their dtype.
Finding unlike_expand_x(const Context& c, const TensorInfo& tensor) {
    const Dtype dtype = c.call.expand_x.dtype;
    return {is_given(tensor) && tensor.dtype != dtype, static_cast<int64_t>(tensor.dtype), static_cast<int64_t>(dtype)};
}

// Const experts need all of their tensors.
Finding missing_const(const Context& c, const TensorInfo& tensor) {
    const int64_t count = c.attributes.const_expert_num;
    return {count > 0 && !tensor.is_present, count, static_cast<int64_t>(Field::kConstExpertNum)};
}

// The last axis of a tensor of `dims` dimensions.
Finding compare_hidden(const Context& c, const TensorInfo& tensor, size_t dims) {
    if (tensor.shape.size() != dims) return {false, 0, 0};
    return compare_extent(tensor, dims - 1, c.geometry.hidden);
}

constexpr CheckRow<Context> kAttributes[] = {
    {Field::kCommQuantMode, Code::kOutOfRange,
     [](const Context& c) -> Finding {
         const int64_t mode = c.call.comm_quant_mode;
         return {mode != 0 && (mode < 2 || mode > 4), mode, 4};
     }},
};

// What goes with combine_reduce = "rank".
constexpr CheckRow<Context> kByRank[] = {
    {Field::kCombineReduce, Code::kUnexpected,
     [](const Context& c) -> Finding {
         const int64_t mode = c.call.comm_quant_mode;
         return {sums_by_rank(c.limits) && mode != 0, mode, static_cast<int64_t>(Field::kCommQuantMode)};
     }},
    {Field::kExpandScales, Code::kMissing,
     [](const Context& c) -> Finding {
         const bool is_weighted = sums_by_rank(c.limits) && is_passed(c.call.expert_scales);
         return {is_weighted && !c.call.expand_scales.is_present, 0, static_cast<int64_t>(Field::kCombineReduce)};
     }},
    {Field::kExpandScales, Code::kTooSmall,
     [](const Context& c) -> Finding {
         if (!sums_by_rank(c.limits) || !is_passed(c.call.expert_scales)) return {false, 0, 0};
         return at_least(c.call.expand_scales, c.geometry.capacity_rows);
     },
     0},
};

constexpr CheckRow<Context> kShapes[] = {
    {Field::kExpandX, Code::kTooSmall,
     [](const Context& c) { return at_least(c.call.expand_x, c.geometry.capacity_rows); }, 0},
    {Field::kAssistInfo, Code::kTooSmall,
     [](const Context& c) {
         return at_least(c.call.assist_info_for_combine, kAssistRowWords * c.geometry.capacity_rows);
     },
     0},
    {Field::kEpSendCounts, Code::kTooSmall,
     [](const Context& c) { return at_least(c.call.ep_send_counts, c.geometry.num_ranks * c.geometry.local_experts); },
     0},
    {Field::kExpertScales, Code::kBadShape,
     [](const Context& c) { return compare_extent(c.call.expert_scales, 0, c.geometry.num_tokens); }, 0},
    {Field::kExpertScales, Code::kBadShape,
     [](const Context& c) { return compare_extent(c.call.expert_scales, 1, c.geometry.num_topk); }, 1},
    {Field::kXActiveMask, Code::kBadShape,
     [](const Context& c) { return compare_extent(c.call.x_active_mask, 0, c.geometry.num_tokens); }, 0},
    {Field::kXActiveMask, Code::kBadShape,
     [](const Context& c) { return compare_extent(c.call.x_active_mask, 1, c.geometry.num_topk); }, 1},
    {Field::kGlobalBs, Code::kUnexpected,
     [](const Context& c) { return mask_of_unequal_batches(c, c.call.x_active_mask); }},
    {Field::kElasticInfo, Code::kBadShape,
     [](const Context& c) { return compare_extent(c.call.elastic_info, 0, 4 + 2 * c.geometry.num_ranks); }, 0},
    {Field::kPerformanceInfo, Code::kBadShape,
     [](const Context& c) { return compare_extent(c.call.performance_info, 0, c.geometry.num_ranks); }, 0},
    {Field::kSharedExpertX, Code::kBadDtype,
     [](const Context& c) { return unlike_expand_x(c, c.call.shared_expert_x); }},
    {Field::kSharedExpertX, Code::kBadShape,
     [](const Context& c) -> Finding {
         const TensorInfo& rows = c.call.shared_expert_x;
         const int64_t count =
             rows.shape.size() == 3 ? size_product(extent(rows, 0), extent(rows, 1)) : extent(rows, 0);
         return {is_given(rows) && count != c.geometry.num_tokens, count, c.geometry.num_tokens};
     },
     0},
    {Field::kSharedExpertX, Code::kBadShape,
     [](const Context& c) { return compare_hidden(c, c.call.shared_expert_x, 2); }, 1},
    {Field::kSharedExpertX, Code::kBadShape,
     [](const Context& c) { return compare_hidden(c, c.call.shared_expert_x, 3); }, 2},
    {Field::kOriX, Code::kBadDtype, [](const Context& c) { return unlike_expand_x(c, c.call.ori_x); }},
    {Field::kOriX, Code::kBadShape,
     [](const Context& c) { return compare_extent(c.call.ori_x, 0, c.geometry.num_tokens); }, 0},
    {Field::kOriX, Code::kBadShape, [](const Context& c) { return compare_extent(c.call.ori_x, 1, c.geometry.hidden); },
     1},
};

// What one feature's arguments demand of each other. Each fault is illegal, feature or not.
constexpr CheckRow<Context> kPairs[] = {
    {Field::kSharedExpertRankNum, Code::kNotEqual,
     [](const Context& c) -> Finding {
         const int64_t ranks = c.attributes.shared_expert_rank_num;
         return {is_given(c.call.shared_expert_x) && ranks != 0, ranks, 0};
     }},
    {Field::kOriX, Code::kMissing,
     [](const Context& c) -> Finding {
         const CommonAttributes& a = c.attributes;
         const bool is_copy = a.copy_expert_num > 0;
         const bool is_needed = is_copy || a.const_expert_num > 0;
         const Field cause = is_copy ? Field::kCopyExpertNum : Field::kConstExpertNum;
         return {is_needed && !c.call.ori_x.is_present, is_copy ? a.copy_expert_num : a.const_expert_num,
                 static_cast<int64_t>(cause)};
     }},
    {Field::kConstExpertAlpha1, Code::kMissing,
     [](const Context& c) { return missing_const(c, c.call.const_expert_alpha_1); }},
    {Field::kConstExpertAlpha1, Code::kBadDtype,
     [](const Context& c) { return unlike_expand_x(c, c.call.const_expert_alpha_1); }},
    {Field::kConstExpertAlpha1, Code::kBadShape,
     [](const Context& c) { return compare_extent(c.call.const_expert_alpha_1, 0, c.attributes.const_expert_num); }, 0},
    {Field::kConstExpertAlpha1, Code::kBadShape,
     [](const Context& c) { return compare_extent(c.call.const_expert_alpha_1, 1, c.geometry.hidden); }, 1},
    {Field::kConstExpertAlpha2, Code::kMissing,
     [](const Context& c) { return missing_const(c, c.call.const_expert_alpha_2); }},
    {Field::kConstExpertAlpha2, Code::kBadDtype,
     [](const Context& c) { return unlike_expand_x(c, c.call.const_expert_alpha_2); }},
    {Field::kConstExpertAlpha2, Code::kBadShape,
     [](const Context& c) { return compare_extent(c.call.const_expert_alpha_2, 0, c.attributes.const_expert_num); }, 0},
    {Field::kConstExpertAlpha2, Code::kBadShape,
     [](const Context& c) { return compare_extent(c.call.const_expert_alpha_2, 1, c.geometry.hidden); }, 1},
    {Field::kConstExpertV, Code::kMissing, [](const Context& c) { return missing_const(c, c.call.const_expert_v); }},
    {Field::kConstExpertV, Code::kBadDtype, [](const Context& c) { return unlike_expand_x(c, c.call.const_expert_v); }},
    {Field::kConstExpertV, Code::kBadShape,
     [](const Context& c) { return compare_extent(c.call.const_expert_v, 0, c.attributes.const_expert_num); }, 0},
    {Field::kConstExpertV, Code::kBadShape,
     [](const Context& c) { return compare_extent(c.call.const_expert_v, 1, c.geometry.hidden); }, 1},
};

constexpr CheckRow<Context> kLater[] = {
    {Field::kElasticInfo, Code::kNotImplemented,
     [](const Context& c) -> Finding { return {is_given(c.call.elastic_info), 0, 0}; }},
    {Field::kOriX, Code::kNotImplemented, [](const Context& c) -> Finding { return {is_given(c.call.ori_x), 0, 0}; }},
    {Field::kConstExpertAlpha1, Code::kNotImplemented,
     [](const Context& c) -> Finding { return {is_given(c.call.const_expert_alpha_1), 0, 0}; }},
    {Field::kConstExpertAlpha2, Code::kNotImplemented,
     [](const Context& c) -> Finding { return {is_given(c.call.const_expert_alpha_2), 0, 0}; }},
    {Field::kConstExpertV, Code::kNotImplemented,
     [](const Context& c) -> Finding { return {is_given(c.call.const_expert_v), 0, 0}; }},
    {Field::kCommQuantMode, Code::kNotImplemented,
     [](const Context& c) -> Finding { return {c.call.comm_quant_mode > 2, c.call.comm_quant_mode, 0}; }},
};

}  // namespace

Status check_combine(const CommunicatorLimits& limits, uint32_t rank, const CombineCall& call) {
    const Context context{{limits, rank, call.attributes, geometry(call)}, call};
    Refusal refusal = run_tensors(kTensors, call);
    if (refusal.code == Code::kOk) refusal = run_rows(kAttributes, context);
    if (refusal.code == Code::kOk) refusal = check_common(context);
    if (refusal.code == Code::kOk) refusal = run_rows(kShapes, context);
    if (refusal.code == Code::kOk) refusal = run_rows(kPairs, context);
    if (refusal.code == Code::kOk) refusal = run_rows(kByRank, context);
    if (refusal.code == Code::kOk) refusal = run_rows(kLater, context);
    if (refusal.code == Code::kOk) refusal = check_common_features(context);
    return make_status(refusal, OperationKind::kCombine, rank);
}

}  // namespace ascend_deepep::op_host
