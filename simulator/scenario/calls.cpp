// SPDX-License-Identifier: Apache-2.0
// Layer: simulator.
#include "simulator/scenario/calls.h"

#include <stdexcept>
#include <utility>

#include "op_host/check.h"
#include "simulator/scenario/call_parts.h"
#include "simulator/scenario/draw_roles.h"

namespace ascend_deepep::simulator {
uint64_t trailer_word(uint64_t capacity_rows) {
    return align_up(capacity_rows * kTripleWords, kUnitBytes / sizeof(uint32_t));
}

op_host::Machine Calls::machine() const {
    op_host::Machine machine{rank_.window_table(), rank_.engine().queue_table(), rank_.workspace(),
                             rank_.rank(),         channel_.num_cores,           channel_.timeout_ns};
    machine.queues_per_peer = channel_.config.queues_per_peer;
    if (channel_.shape.has_drawn_roles) {
        machine.roles = draw_roles(channel_.seed + rank_.rank(), channel_.num_cores, channel_.config.limits.num_ranks,
                                   channel_.config.queues_per_peer);
    }
    return machine;
}

DispatchResult Calls::dispatch(const Batch& batch) {
    const op_host::DispatchCall call = dispatch_call(channel_.config.limits, rank_.rank(), batch);
    op_host::DispatchShapes shapes;
    const op_host::Status status =
        op_host::check_dispatch(channel_.config.limits, rank_.rank(), unmasked(call), &shapes);
    if (!status.ok()) throw std::runtime_error(status.message);
    const auto rows = static_cast<uint64_t>(shapes.capacity_rows);
    const uint64_t words = chain_word(trailer_word(rows), batch.features.sums_by_rank ? rows : 0);
    DispatchResult result = new_dispatch_result(call, shapes, batch, words);
    DispatchTiling tiling;
    std::vector<twin::GmRange> ranges{{&tiling, sizeof(tiling)}};
    const op_host::DispatchAddresses addresses = dispatch_addresses(batch, 0, &result, &ranges);
    op_host::make_dispatch_tiling(channel_.config.limits, machine(), call, addresses, &tiling);
    rank_.launch("dispatch_v2", kernels_.dispatch_v2, &tiling, std::move(ranges));
    result.outcome = rank_.page().outcome;
    result.record = rank_.page().record;
    return result;
}

CombineResult Calls::combine(const Batch& batch, const DispatchResult& dispatched,
                             const std::vector<uint16_t>& expert_out) {
    const op_host::CombineCall call = combine_call(channel_.config.limits, rank_.rank(), batch, dispatched);
    const op_host::Status status = op_host::check_combine(channel_.config.limits, rank_.rank(), unmasked(call));
    if (!status.ok()) throw std::runtime_error(status.message);
    CombineResult result = new_combine_result(batch);
    CombineTiling tiling;
    std::vector<twin::GmRange> ranges{{&tiling, sizeof(tiling)}};
    const op_host::CombineAddresses addresses = combine_addresses(batch, dispatched, expert_out, 0, &result, &ranges);
    op_host::make_combine_tiling(channel_.config.limits, machine(), channel_.shape.engine, call, addresses, &tiling);
    rank_.launch("combine_v2", kernels_.combine_v2, &tiling, std::move(ranges));
    result.outcome = rank_.page().outcome;
    result.record = rank_.page().record;
    return result;
}

OperationOutcome Calls::refuse(OperationKind kind, const Refusal& refusal) {
    if (kind == OperationKind::kDispatch) {
        DispatchTiling tiling;
        op_host::make_refusal_tiling(channel_.config.limits, machine(), refusal, &tiling);
        rank_.launch("dispatch_v2", kernels_.dispatch_v2, &tiling, {{&tiling, sizeof(tiling)}});
    } else {
        CombineTiling tiling;
        op_host::make_refusal_tiling(channel_.config.limits, machine(), channel_.shape.engine, refusal, &tiling);
        rank_.launch("combine_v2", kernels_.combine_v2, &tiling, {{&tiling, sizeof(tiling)}});
    }
    return rank_.page().outcome;
}

}  // namespace ascend_deepep::simulator
