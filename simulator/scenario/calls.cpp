// SPDX-License-Identifier: Apache-2.0
// Layer: simulator.
#include "simulator/scenario/calls.h"

#include <stdexcept>

#include "op_host/check.h"
#include "simulator/scenario/call_parts.h"

namespace ascend_deepep::simulator {
uint64_t trailer_word(uint64_t capacity_rows) {
    return align_up(capacity_rows * kTripleWords, kUnitBytes / sizeof(uint32_t));
}

op_host::Machine Calls::machine() const {
    return {rank_.window_table(), rank_.engine().queue_table(), rank_.workspace(),
            rank_.rank(),         channel_.num_cores,           channel_.timeout_ns};
}

DispatchResult Calls::dispatch(const Batch& batch) {
    op_host::DispatchCall call;
    call.x = tensor(batch.dtype, {batch.num_tokens, batch.hidden});
    call.expert_ids = tensor(Dtype::kInt32, {batch.num_tokens, batch.num_topk});
    call.attributes = attributes(channel_.config.limits, rank_.rank(), batch);
    op_host::DispatchShapes shapes;
    const op_host::Status status = op_host::check_dispatch(channel_.config.limits, rank_.rank(), call, &shapes);
    if (!status.ok()) throw std::runtime_error(status.message);
    DispatchResult result;
    result.capacity_rows = static_cast<uint32_t>(shapes.capacity_rows);
    result.expand_x.assign(static_cast<size_t>(shapes.capacity_rows * shapes.hidden), kPoisonRow);
    result.assist_info.assign(trailer_word(result.capacity_rows) + sizeof(AssistTrailer) / sizeof(int32_t),
                              kPoisonWord);
    result.ep_recv_counts.assign(static_cast<size_t>(shapes.ep_recv_counts), -7);
    result.expert_token_nums.assign(static_cast<size_t>(shapes.expert_token_nums), -7);
    const op_host::DispatchAddresses addresses{address(batch.x.data()),
                                               address(batch.expert_ids.data()),
                                               address(result.expand_x.data()),
                                               address(result.assist_info.data()),
                                               address(result.ep_recv_counts.data()),
                                               address(result.expert_token_nums.data())};
    DispatchTiling tiling;
    op_host::make_dispatch_tiling(channel_.config.limits, machine(), call, addresses, &tiling);
    rank_.launch("dispatch_v2", kernels_.dispatch_v2, &tiling,
                 {range(batch.x),
                  range(batch.expert_ids),
                  range(result.expand_x),
                  range(result.assist_info),
                  range(result.ep_recv_counts),
                  range(result.expert_token_nums),
                  {&tiling, sizeof(tiling)}});
    result.outcome = rank_.page().outcome;
    result.record = rank_.page().record;
    return result;
}

CombineResult Calls::combine(const Batch& batch, const DispatchResult& dispatched,
                             const std::vector<uint16_t>& expert_out) {
    op_host::CombineCall call;
    call.expand_x = tensor(batch.dtype, {dispatched.capacity_rows, batch.hidden});
    call.expert_ids = tensor(Dtype::kInt32, {batch.num_tokens, batch.num_topk});
    call.assist_info_for_combine =
        tensor(Dtype::kInt32, {std::max<int64_t>(int64_t{batch.num_tokens} * batch.num_topk,
                                                 int64_t{kAssistRowWords} * dispatched.capacity_rows)});
    call.ep_send_counts = tensor(Dtype::kInt32, {static_cast<int64_t>(dispatched.ep_recv_counts.size())});
    call.expert_scales =
        batch.scales.empty() ? tensor(Dtype::kFp32, {0}) : tensor(Dtype::kFp32, {batch.num_tokens, batch.num_topk});
    call.attributes = attributes(channel_.config.limits, rank_.rank(), batch);
    const op_host::Status status = op_host::check_combine(channel_.config.limits, rank_.rank(), call);
    if (!status.ok()) throw std::runtime_error(status.message);
    CombineResult result;
    result.x.assign(size_t{batch.num_tokens} * batch.hidden, kPoisonRow);
    const op_host::CombineAddresses addresses{address(expert_out.data()),
                                              address(batch.expert_ids.data()),
                                              address(dispatched.assist_info.data()),
                                              address(dispatched.ep_recv_counts.data()),
                                              address(batch.scales.data()),
                                              address(result.x.data())};
    CombineTiling tiling;
    op_host::make_combine_tiling(channel_.config.limits, machine(), channel_.shape.engine, call, addresses, &tiling);
    rank_.launch("combine_v2", kernels_.combine_v2, &tiling,
                 {range(expert_out),
                  range(batch.expert_ids),
                  range(dispatched.assist_info),
                  range(dispatched.ep_recv_counts),
                  range(batch.scales),
                  range(result.x),
                  {&tiling, sizeof(tiling)}});
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
