// SPDX-License-Identifier: Apache-2.0
//
// Checks of dispatch_v2. Layer: op_host. Illegal tensors, then illegal attributes, then sizes that do not fit each
// other, and only then what this release lacks.
#include "op_host/check.h"
#include "op_host/check_rows.h"
#include "op_host/quant.h"

namespace ascend_deepep::op_host {
namespace {

using Context = DispatchContext;

constexpr TensorRow<DispatchCall> kTensors[] = {
    {Field::kX, &DispatchCall::x, true},
    {Field::kExpertIds, &DispatchCall::expert_ids, true},
    {Field::kScales, &DispatchCall::scales, false},
    {Field::kXActiveMask, &DispatchCall::x_active_mask, false},
    {Field::kExpertScales, &DispatchCall::expert_scales, false},
    {Field::kElasticInfo, &DispatchCall::elastic_info, false},
    {Field::kPerformanceInfo, &DispatchCall::performance_info, false},
};

constexpr CheckRow<Context> kAttributes[] = {
    {Field::kQuantMode, Code::kOutOfRange,
     [](const Context& c) -> Finding {
         return {c.call.quant_mode < 0 || c.call.quant_mode > kQuantMxClamp, c.call.quant_mode, kQuantMxClamp};
     }},
    {Field::kExpertTokenNumsType, Code::kOutOfRange,
     [](const Context& c) -> Finding {
         const int64_t type = c.call.expert_token_nums_type;
         return {type < 0 || type > 1, type, 1};
     }},
};

constexpr CheckRow<Context> kShapes[] = {
    {Field::kExpertIds, Code::kBadShape,
     [](const Context& c) { return compare_extent(c.call.expert_ids, 0, c.geometry.num_tokens); }, 0},
    {Field::kXActiveMask, Code::kBadShape,
     [](const Context& c) { return compare_extent(c.call.x_active_mask, 0, c.geometry.num_tokens); }, 0},
    {Field::kXActiveMask, Code::kBadShape,
     [](const Context& c) { return compare_extent(c.call.x_active_mask, 1, c.geometry.num_topk); }, 1},
    {Field::kExpertScales, Code::kBadShape,
     [](const Context& c) { return compare_table_extent(c.call.expert_scales, 0, c.geometry.num_tokens); }, 0},
    {Field::kExpertScales, Code::kBadShape,
     [](const Context& c) { return compare_table_extent(c.call.expert_scales, 1, c.geometry.num_topk); }, 1},
    {Field::kGlobalBs, Code::kUnexpected,
     [](const Context& c) { return mask_of_unequal_batches(c, c.call.x_active_mask); }},
    {Field::kElasticInfo, Code::kBadShape,
     [](const Context& c) { return compare_extent(c.call.elastic_info, 0, 4 + 2 * c.geometry.num_ranks); }, 0},
    {Field::kPerformanceInfo, Code::kBadShape,
     [](const Context& c) { return compare_extent(c.call.performance_info, 0, c.geometry.num_ranks); }, 0},
};

constexpr CheckRow<Context> kLater[] = {
    {Field::kElasticInfo, Code::kNotImplemented,
     [](const Context& c) -> Finding { return {is_given(c.call.elastic_info), 0, 0}; }},
};

}  // namespace

Status check_dispatch(const CommunicatorLimits& limits, uint32_t rank, const DispatchCall& call,
                      DispatchShapes* shapes) {
    const Context context{{limits, rank, call.attributes, geometry(call)}, call};
    Refusal refusal = run_tensors(kTensors, call);
    if (refusal.code == Code::kOk) refusal = run_rows(kAttributes, context);
    if (refusal.code == Code::kOk) refusal = check_common(context);
    if (refusal.code == Code::kOk) refusal = run_rows(kShapes, context);
    if (refusal.code == Code::kOk) refusal = check_quant(context);
    if (refusal.code == Code::kOk) refusal = run_rows(kLater, context);
    if (refusal.code == Code::kOk) refusal = check_common_features(context);
    if (refusal.code == Code::kOk && shapes != nullptr) *shapes = dispatch_shapes(call);
    return make_status(refusal, OperationKind::kDispatch, rank);
}

}  // namespace ascend_deepep::op_host
