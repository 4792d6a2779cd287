// SPDX-License-Identifier: Apache-2.0
//
// The end of an operation: every core arrives once, on every path; the last one closes it. Layer: protocol.
// docs/protocol.md, P11 and P12.
#ifndef ASCEND_DEEPEP_PROTOCOL_LEAVE_H
#define ASCEND_DEEPEP_PROTOCOL_LEAVE_H

#include "protocol/wait.h"

namespace ascend_deepep::kernel {

// Drains the core, books its times and arrives. True on the last core: it closes the operation.
__aicore__ inline bool arrive(CoreContext& ctx) {
    enter_stage(ctx, Stage::kExit);
    for (uint32_t stage = 0; stage < kNumStages; ++stage) {
        store(&ctx.page->times[ctx.core].cycles[stage], ctx.stage_cycles[stage]);
    }
    AscendC::PipeBarrier<PIPE_ALL>();  // ORDER P11: all it wrote, then its arrival (A2)
    store_barrier();
    const uint64_t before = AscendC::AtomicAdd((__gm__ uint64_t*)&ctx.page->arrivals.word, uint64_t(1));
    return before + 1 == ctx.tiling->num_cores;
}

// The refusal that the operation ends with: this rank's own, else the first one that a core of the exchange found.
__aicore__ inline Refusal final_refusal(const CoreContext& ctx, uint32_t num_cells) {
    Refusal refusal;
    for (uint32_t i = 0; i < num_cells; ++i) {
        load_struct(&refusal, refusal_cell(ctx, i));
        if (refusal.code != Code::kOk) break;
    }
    return refusal;
}

__aicore__ inline void save_refusal(const CoreContext& ctx, uint32_t cell, const Refusal& refusal) {
    store_struct(refusal_cell(ctx, cell), refusal);
}

// The abort word as the operation ends with it: read once, by the last core. The host may have set it after this rank's
// last wait; then nobody has told the peers yet.
__aicore__ inline uint64_t final_abort(CoreContext& ctx) {
    const uint64_t word = load((__gm__ uint64_t*)&ctx.page->abort_word.word);
    if (word != 0) {
        fail(ctx, Failure{static_cast<Code>(word >> 32), Stage::kExit, ctx.tiling->rank,
                          static_cast<uint32_t>(word) - 1, ctx.tag, 0, 0, 0});
    }
    return word;
}

// I7: on every rank alike. After a refusal nobody knows what the others had called and begun to write: a half of either
// kind may still get blocks, which the next use must not meet.
__aicore__ inline void count_uses(CoreContext& ctx, Code code) {
    for (uint32_t kind = 0; kind < kNumKinds; ++kind) {
        const bool is_use = code == Code::kOk ? kind == kind_index(ctx.kind) : is_refusal(code);
        __gm__ uint64_t* uses = &ctx.page->state.uses[kind];
        if (is_use) store(uses, load(uses) + 1);
    }
}

// Writes the outcome and hands the control page to the next operation. Last core only.
__aicore__ inline void close_operation(CoreContext& ctx, const Refusal& refusal, uint64_t abort_word,
                                       uint32_t num_rows) {
    __gm__ OperationState* state = &ctx.page->state;
    OperationOutcome outcome{};
    outcome.sequence = ctx.sequence;
    outcome.code = abort_word != 0 ? static_cast<Code>(abort_word >> 32) : refusal.code;
    outcome.refusal = refusal;
    outcome.num_rows = num_rows;
    store_struct((GM_ADDR)&ctx.page->outcome, outcome);
    if (abort_word != 0) store(&state->is_broken, uint64_t(1));
    count_uses(ctx, outcome.code);
    store(&ctx.page->next_work.word, uint64_t(0));
    store(&ctx.page->arrivals.word, uint64_t(0));
    store_barrier();
    store(&state->sequence, ctx.sequence + 1);  // ORDER P12: outcome, then the next sequence number
}

}  // namespace ascend_deepep::kernel

#endif  // ASCEND_DEEPEP_PROTOCOL_LEAVE_H
