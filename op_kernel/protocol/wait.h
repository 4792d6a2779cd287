// SPDX-License-Identifier: Apache-2.0
//
// The one wait primitive, and what happens when a wait ends badly. Layer: protocol. docs/protocol.md, I8 and "Errors".
// Use: Wait wait(ctx, stage, peer, expected); while (!ready) { if (!wait.go_on(seen)) return false; }
#ifndef ASCEND_DEEPEP_PROTOCOL_WAIT_H
#define ASCEND_DEEPEP_PROTOCOL_WAIT_H

#include "port/port.h"
#include "protocol/context.h"

namespace ascend_deepep::kernel {

struct Failure {
    Code code;
    Stage stage;
    uint32_t peer;
    uint32_t root;
    uint64_t expected;
    uint64_t seen;
    int64_t got;
    int64_t limit;
};

// I4: slot t mod 4 is free again at t + 4, so posting a message never waits.
__aicore__ inline GM_ADDR control_slot(const CoreContext& ctx, GM_ADDR window, uint32_t source) {
    const uint64_t slot = uint64_t(source) * kControlSlots + ctx.sequence % kControlSlots;
    return window + region_offset(ctx, WindowRegion::kControlRing) +
           slot * ctx.tiling->window.control_blocks * kBlockBytes;
}

__aicore__ inline GM_ADDR abort_cell(const CoreContext& ctx, GM_ADDR window, uint32_t source) {
    return window + region_offset(ctx, WindowRegion::kAbort) + uint64_t(source) * kBlockBytes;
}

__aicore__ inline bool block_has_tag(GM_ADDR block, uint64_t tag) {
    return load((__gm__ uint64_t*)(block + kBlockDataBytes)) == tag;
}

// All blocks of the control message of `source` for this operation have arrived.
__aicore__ inline bool message_arrived(const CoreContext& ctx, uint32_t source) {
    GM_ADDR slot = control_slot(ctx, ctx.window, source);
    for (uint32_t block = 0; block < ctx.tiling->window.control_blocks; ++block) {
        if (!block_has_tag(slot + block * kBlockBytes, ctx.tag)) return false;
    }
    return true;
}

// Posts the record to the abort cell of every peer: one block each, its tag last (A1).
__aicore__ inline void post_abort(CoreContext& ctx, const ErrorRecord& record) {
    AscendC::LocalTensor<uint64_t> image = ctx.scratch.Get<uint64_t>();
    const uint64_t* words = reinterpret_cast<const uint64_t*>(&record);
    constexpr uint32_t kRecordWords = sizeof(ErrorRecord) / sizeof(uint64_t);
    constexpr uint32_t kTagWord = kBlockDataBytes / sizeof(uint64_t);
    for (uint32_t i = 0; i < kBlockBytes / sizeof(uint64_t); ++i) {
        image.SetValue(i, i < kRecordWords ? words[i] : (i >= kTagWord ? ctx.tag : 0));
    }
    sync<AscendC::HardEvent::S_MTE3>();
    for (uint32_t peer = 0; peer < ctx.tiling->num_ranks; ++peer) {
        if (peer == ctx.tiling->rank) continue;
        GM_ADDR cell = abort_cell(ctx, window_of(ctx, peer), ctx.tiling->rank);
        AscendC::DataCopy(gm_tensor<uint64_t>(cell), image, kBlockBytes / sizeof(uint64_t));
    }
    AscendC::PipeBarrier<PIPE_ALL>();
}

// Records why this operation fails, once per rank, and ends every wait of this rank and of its peers.
__aicore__ inline void fail(CoreContext& ctx, const Failure& failure) {
    ctx.has_failed = true;
    AscendC::PipeBarrier<PIPE_ALL>();
    const uint64_t claim =
        AscendC::AtomicCas((__gm__ uint64_t*)&ctx.page->record_claim.word, uint64_t(0), uint64_t(ctx.core + 1));
    if (claim != 0) return;
    ErrorRecord record{};
    record.code = failure.code;
    record.stage = failure.stage;
    record.rank = ctx.tiling->rank;
    record.root = failure.root;
    record.sequence = ctx.sequence;
    record.expected = failure.expected;
    record.seen = failure.seen;
    record.elapsed_cycles = static_cast<uint64_t>(AscendC::GetSystemCycle()) - ctx.entry_cycle;
    record.core = ctx.core;
    record.kind = static_cast<uint32_t>(ctx.kind);
    record.peer = failure.peer;
    record.got = failure.got;
    record.limit = failure.limit;
    for (uint32_t source = ctx.tiling->num_ranks; source > 0; --source) {
        if (message_arrived(ctx, source - 1)) continue;
        record.missing[(source - 1) / 32] |= 1U << ((source - 1) % 32);
        ++record.num_missing;
        if (failure.code == Code::kTimeout) record.root = source - 1;  // ends at the first one missing
    }
    store_struct((GM_ADDR)&ctx.page->record, record);
    // ORDER P13: record, then abort word, then abort messages.
    store_barrier();
    const uint64_t word = (uint64_t(static_cast<uint32_t>(failure.code)) << 32) | (record.root + 1);
    AscendC::AtomicCas((__gm__ uint64_t*)&ctx.page->abort_word.word, uint64_t(0), word);
    post_abort(ctx, record);
}

class Wait {
  public:
    __aicore__ inline Wait(CoreContext& ctx, Stage stage, uint32_t peer, uint64_t expected)
        : ctx_(ctx), stage_(stage), peer_(peer), expected_(expected), polls_(0) {}

    // One turn of a poll loop that was not ready. False: the operation has failed, leave.
    __aicore__ inline bool go_on(uint64_t seen) {
        if (ctx_.has_failed) return false;
        const uint64_t word = load((__gm__ uint64_t*)&ctx_.page->abort_word.word);
        if (word != 0) return end(static_cast<Code>(word >> 32), static_cast<uint32_t>(word) - 1, seen);
        if (polls_ % kAbortPollInterval == 0 && !abort_of_peer(polls_ / kAbortPollInterval, seen)) return false;
        ++polls_;
        const uint64_t now = static_cast<uint64_t>(AscendC::GetSystemCycle());
        if (now - ctx_.entry_cycle > ctx_.tiling->timeout_cycles) return end(Code::kTimeout, peer_, seen);
        port::poll_pause(static_cast<uint32_t>(stage_), peer_, now);
        return true;
    }

    // The same for a loop that looks at several peers: `peer` is the one it misses.
    __aicore__ inline bool go_on_for(uint32_t peer, uint64_t seen) {
        peer_ = peer;
        return go_on(seen);
    }

  private:
    // Peers' abort cells are looked at in turn, one every few polls: a wait stays cheap with many ranks.
    static constexpr uint32_t kAbortPollInterval = 4;

    __aicore__ inline bool end(Code code, uint32_t root, uint64_t seen) {
        fail(ctx_, Failure{code, stage_, peer_, root, expected_, seen, 0, 0});
        return false;
    }

    __aicore__ inline bool abort_of_peer(uint32_t turn, uint64_t seen) {
        const uint32_t peer = turn % ctx_.tiling->num_ranks;
        GM_ADDR cell = abort_cell(ctx_, ctx_.window, peer);
        if (load((__gm__ uint64_t*)(cell + kBlockDataBytes)) == 0) return true;
        ErrorRecord record;
        load_struct(&record, cell);
        // What it was at its origin, however many ranks have passed it on.
        const Code origin = record.code == Code::kPeerAborted ? static_cast<Code>(record.got) : record.code;
        const Code code = origin == Code::kPeerLost ? Code::kPeerLost : Code::kPeerAborted;
        fail(ctx_, Failure{code, stage_, peer, record.root, expected_, seen,
                           static_cast<int64_t>(static_cast<uint32_t>(origin)), 0});
        return false;
    }

    CoreContext& ctx_;
    Stage stage_;
    uint32_t peer_;
    uint64_t expected_;
    uint32_t polls_;
};

// Waits for what other ranks send, timed for performance_info from now on. Of waits that end badly nothing is kept.
class SourceWait {
  public:
    __aicore__ inline explicit SourceWait(const CoreContext& ctx)
        : tiling_(*ctx.tiling),
          since_(tiling_.performance_info != 0 ? static_cast<uint64_t>(AscendC::GetSystemCycle()) : 0) {}

    // It has come from `source`.
    __aicore__ inline void arrived(uint32_t source) const {
        if (tiling_.performance_info == 0) return;
        const uint64_t cycles = static_cast<uint64_t>(AscendC::GetSystemCycle()) - since_;
        const int64_t us = static_cast<int64_t>(cycles / tiling_.cycles_per_us);
        if (us != 0) AscendC::AtomicMax((__gm__ int64_t*)tiling_.performance_info + source, us);
    }

  private:
    const CommonTiling& tiling_;
    uint64_t since_;
};

// Waits for a local flag of this operation; its value is then in `value`.
__aicore__ inline bool wait_flag(CoreContext& ctx, Stage stage, __gm__ uint64_t* flag, uint32_t& value) {
    Wait wait(ctx, stage, ctx.tiling->rank, ctx.tag);
    while (!poll(ctx, flag, value)) {
        if (!wait.go_on(value)) return false;
    }
    return true;
}

}  // namespace ascend_deepep::kernel

#endif  // ASCEND_DEEPEP_PROTOCOL_WAIT_H
