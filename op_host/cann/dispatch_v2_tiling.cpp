// SPDX-License-Identifier: Apache-2.0
//
// Tiling of DispatchV2. Layer: op_host/cann. The kernel's entry puts in the addresses of the tensors.
#include <algorithm>

#include "op_host/cann/tiling.h"
#include "op_host/check.h"
#include "op_host/quant.h"

namespace ascend_deepep::cann {
namespace {

op_host::Status check(const gert::TilingContext& context, const FoundMachine& found,
                      const op_host::DispatchCall& call) {
    const uint32_t rank = found.machine.rank;
    op_host::DispatchShapes s;
    const op_host::Status status = op_host::check_dispatch(found.limits, rank, call, &s);
    if (!status.ok()) return status;
    const bool has_scales = op_host::quant_plan(call).scale_bytes > 0;
    const int64_t scales = has_scales ? s.dynamic_scales * std::max<int64_t>(1, s.scale_columns) : 0;
    return check_outputs(context, OperationKind::kDispatch, rank, outputs<DispatchArguments>(), column_of(call),
                         {{kExpandX, Field::kExpandX, s.capacity_rows * s.hidden},
                          {kDynamicScales, Field::kNone, scales},
                          {kAssistInfo, Field::kAssistInfo, s.assist_info},
                          {kExpertTokenNums, Field::kNone, s.expert_token_nums},
                          {kEpRecvCounts, Field::kEpSendCounts, s.ep_recv_counts},
                          {kExpandScales, Field::kExpandScales, s.has_expert_scales ? s.expand_scales : 0}});
}

}  // namespace

ge::graphStatus tile_dispatch(gert::TilingContext* context) {
    const auto fill = [context](const FoundMachine& found, const DispatchArguments& arguments, DispatchTiling* tiling) {
        // op_host clears those of absent tensors; the entry takes the others for "there is one".
        op_host::DispatchAddresses marks{};
        marks.x_active_mask = marks.performance_info = 1;
        const op_host::Status status = check(*context, found, arguments.call);
        if (status.ok()) {
            op_host::make_dispatch_tiling(found.limits, found.machine, arguments.call, marks, tiling);
        } else {
            op_host::make_refusal_tiling(found.limits, found.machine, status.refusal, tiling);
        }
        return status;
    };
    return tile<DispatchArguments, DispatchTiling>(context, fill);
}

}  // namespace ascend_deepep::cann
