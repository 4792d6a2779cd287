// SPDX-License-Identifier: Apache-2.0
//
// Tiling of DispatchV2. Layer: op_host/cann. The kernel's entry puts in the addresses of the tensors.
#include "op_host/cann/tiling.h"
#include "op_host/check.h"

namespace ascend_deepep::cann {
namespace {

op_host::Status check(const gert::TilingContext& context, const FoundMachine& found,
                      const op_host::DispatchCall& call) {
    const uint32_t rank = found.machine.rank;
    op_host::DispatchShapes s;
    const op_host::Status status = op_host::check_dispatch(found.limits, rank, call, &s);
    if (!status.ok()) return status;
    return check_outputs(context, OperationKind::kDispatch, rank,
                         {{kExpandX, "expand_x", Field::kExpandX, s.capacity_rows * s.hidden},
                          {kAssistInfo, "assist_info_for_combine", Field::kAssistInfo, s.assist_info},
                          {kExpertTokenNums, "expert_token_nums", Field::kNone, s.expert_token_nums},
                          {kEpRecvCounts, "ep_recv_counts", Field::kEpSendCounts, s.ep_recv_counts}});
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
