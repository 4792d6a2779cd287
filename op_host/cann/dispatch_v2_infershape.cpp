// SPDX-License-Identifier: Apache-2.0
//
// Shapes and dtypes of DispatchV2's outputs, from op_host's own. Layer: op_host/cann.
#include "op_host/cann/infershape.h"
#include "op_host/check.h"

namespace ascend_deepep::cann {
namespace {

// Of dynamic_scales: none where a row has one factor. `hidden` may be unknown.
std::vector<int64_t> scale_columns(const op_host::DispatchShapes& s, int64_t hidden) {
    if (s.scale_columns == 0) return {};
    return {s.passes_scales || hidden >= 0 ? s.scale_columns : kUnknownExtent};
}

}  // namespace

ge::graphStatus infer_dispatch_shape(gert::InferShapeContext* context) {
    DispatchArguments arguments = read<DispatchArguments>(*context);
    op_host::DispatchCall& call = arguments.call;
    const int64_t hidden = known_extent(call.x, 1);
    const bool has_rows = is_known(call.x) && is_known(call.expert_ids);
    // Without rows the numbers of experts and ranks, which are attributes, still stand, and the width of a row; with no
    // width either, any says how many dimensions the scales have.
    if (!has_rows) {
        call.x.shape = {0, hidden >= 0 ? hidden : 1};
        call.expert_ids.shape = {0, 0};
    }
    if (call.scales.is_present && !is_known(call.scales)) call.scales.shape = {0, known_extent(call.scales, 1)};
    const op_host::DispatchShapes s = op_host::dispatch_shapes(call);
    const auto rows = [&](int64_t size) { return has_rows ? size : kUnknownExtent; };
    std::vector<int64_t> row_scales = scale_columns(s, hidden);
    row_scales.insert(row_scales.begin(), rows(s.dynamic_scales));
    set_shape(*context, kExpandX, {rows(s.capacity_rows), hidden});
    set_shape(*context, kDynamicScales, row_scales);
    set_shape(*context, kAssistInfo, {rows(s.assist_info)});
    set_shape(*context, kExpertTokenNums, {s.expert_token_nums});
    set_shape(*context, kEpRecvCounts, {s.ep_recv_counts});
    set_shape(*context, kTpRecvCounts, {s.tp_recv_counts});
    set_shape(*context, kExpandScales, {rows(s.expand_scales)});
    return ge::GRAPH_SUCCESS;
}

ge::graphStatus infer_dispatch_dtype(gert::InferDataTypeContext* context) {
    return infer_dtypes<DispatchArguments>(context);
}

}  // namespace ascend_deepep::cann
