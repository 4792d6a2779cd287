// SPDX-License-Identifier: Apache-2.0
//
// Tiling of CombineV2. Layer: op_host/cann. The kernel's entry puts in the addresses of the tensors.
#include "op_host/cann/tiling.h"
#include "op_host/check.h"
#include "op_host/geometry.h"

namespace ascend_deepep::cann {
namespace {

op_host::Status check(const gert::TilingContext& context, const FoundMachine& found, const op_host::CombineCall& call) {
    const uint32_t rank = found.machine.rank;
    const op_host::Status status = op_host::check_combine(found.limits, rank, call);
    if (!status.ok()) return status;
    const op_host::Geometry g = op_host::geometry(call);
    return check_outputs(context, OperationKind::kCombine, rank, outputs<CombineArguments>(), column_of(call),
                         {{0, Field::kNone, g.num_tokens * g.hidden}});
}

}  // namespace

ge::graphStatus tile_combine(gert::TilingContext* context) {
    const auto fill = [context](const FoundMachine& found, const CombineArguments& arguments, CombineTiling* tiling) {
        // op_host clears those of absent tensors; the entry takes the others for "there is one".
        op_host::CombineAddresses marks{};
        marks.expert_scales = marks.x_active_mask = marks.shared_expert_x = marks.performance_info = 1;
        marks.expand_scales = 1;
        const op_host::Status status = check(*context, found, arguments.call);
        if (status.ok()) {
            op_host::make_combine_tiling(found.limits, found.machine, found.engine, arguments.call, marks, tiling);
        } else {
            op_host::make_refusal_tiling(found.limits, found.machine, found.engine, status.refusal, tiling);
        }
        return status;
    };
    return tile<CombineArguments, CombineTiling>(context, fill);
}

}  // namespace ascend_deepep::cann
