// SPDX-License-Identifier: Apache-2.0
//
// Send: rows of expand_x back to the (token, column) slots of their sources. Layer: combine. docs/protocol.md, P14 to
// P16. MTE writes whole blocks straight into the peer's window; URMA stages rows and lets the engine carry them. Rows
// of this rank's own tokens stay where they are (reads_own_rows).
#ifndef ASCEND_DEEPEP_COMBINE_SEND_H
#define ASCEND_DEEPEP_COMBINE_SEND_H

#include "combine/control.h"
#include "combine/partial.h"
#include "protocol/urma_queue.h"
#include "quant/combine_int8.h"
#include "quant/row_ring.h"

namespace ascend_deepep::kernel {

__aicore__ inline WindowRegion combine_half(uint64_t uses) {
    return uses % kNumHalves == 0 ? WindowRegion::kCombineHalf0 : WindowRegion::kCombineHalf1;
}

// Rows in wire format: as they are, as int8 with their scales, or summed by rank.
class RowImages {
  public:
    __aicore__ inline void begin(CoreContext& ctx, const CombineTiling& tiling) {
        images_.begin(ctx, tiling.row.blocks, ctx.tag);
        if (sums_by_rank(tiling.common)) partials_.begin(ctx, tiling);
        if (tiling.is_int8 == 0) return;
        rows_.begin(ctx, tiling.common.hidden * kElementBytes);
        rows_.open(ctx);
    }

    // By rank: the partial that begins with `row`.
    __aicore__ inline void put_row(const CombineTiling& tiling, uint32_t row, GM_ADDR to) {
        const uint32_t bytes = tiling.common.hidden * kElementBytes;
        const bool is_bf16 = tiling.dtype == static_cast<uint32_t>(Dtype::kBf16);
        images_.acquire();
        if (sums_by_rank(tiling.common)) {
            if (is_bf16) {
                partials_.sum<bfloat16_t>(tiling, row, images_.current());
            } else {
                partials_.sum<half>(tiling, row, images_.current());
            }
        } else if (tiling.is_int8 == 0) {
            images_.fill(0, expert_row(tiling, row), bytes);
        } else {
            copy_in(rows_.acquire(), expert_row(tiling, row), bytes);
            rows_.fill_done();
            if (is_bf16) {
                quantise<bfloat16_t>(tiling);
            } else {
                quantise<half>(tiling);
            }
            rows_.release();
            sync<AscendC::HardEvent::V_MTE3>();
        }
        images_.put(to);
    }

    __aicore__ inline void end(CoreContext& ctx, const CombineTiling& tiling) {
        if (tiling.is_int8 != 0) rows_.close(ctx);
        images_.end(ctx);
    }

  private:
    template <typename T>
    __aicore__ inline void quantise(const CombineTiling& tiling) {
        asc_vf_call<quantise_wire<T>>(dim3(tiling.common.simt_width), ub_pointer(images_.current()),
                                      (__ubuf__ uint4*)ub_pointer(rows_.row()), tiling.common.hidden,
                                      tiling.row.scale_offset);
    }

    BlockImages images_;
    RowRing rows_;
    PartialSums partials_;
};

// The rows of `to` that are dealt to this core, straight into its window.
__aicore__ inline void put_rows(CoreContext& ctx, const CombineTiling& tiling, RowImages& images, uint32_t index,
                                uint32_t to) {
    GM_ADDR half = window_of(ctx, to) + region_offset(ctx, combine_half(ctx.uses));
    for (uint32_t expert = 0; expert < tiling.common.local_experts; ++expert) {
        const RowRange rows = rows_for(tiling, expert, to);
        const uint32_t skip = (index + tiling.send.count - rows.begin % tiling.send.count) % tiling.send.count;
        for (uint32_t row = rows.begin + skip; row < rows.end; row += tiling.send.count) {
            if (!is_sent(tiling, row)) continue;
            images.put_row(tiling, row, half + uint64_t(slot_index(tiling, row)) * ctx.tiling->window.row_slot_bytes);
        }
    }
}

__aicore__ inline void send_mte(CoreContext& ctx, const CombineTiling& tiling, uint32_t index) {
    RowImages images;
    images.begin(ctx, tiling);
    const uint32_t num_targets = ctx.tiling->num_ranks - (reads_own_rows(tiling) ? 1 : 0);
    for (uint32_t i = 1; i <= num_targets; ++i) {
        put_rows(ctx, tiling, images, index, (ctx.tiling->rank + i) % ctx.tiling->num_ranks);
    }
    images.end(ctx, tiling);
}

// What goes to one peer: rows, or partials.
__aicore__ inline uint32_t rows_to(const CoreContext& ctx, const CombineTiling& tiling, uint32_t to) {
    if (sums_by_rank(tiling.common)) {
        return load((__gm__ uint32_t*)workspace_region(ctx, WorkspaceRegion::kPartials) + to);
    }
    uint32_t total = 0;
    for (uint32_t expert = 0; expert < tiling.common.local_experts; ++expert) {
        const RowRange rows = rows_for(tiling, expert, to);
        total += rows.end - rows.begin;
    }
    return total;
}

// Staging slots of one queue.
__aicore__ inline uint32_t staging_rows(const CoreContext& ctx) {
    return kCombineStagingRows / ctx.tiling->queues_per_peer;
}

// Where the sending by one queue stands: words of a UB table. kExpert and kDone: it has passed by the rows of the
// experts before kExpert, and by kDone of that one's.
enum class SendWord : uint32_t { kExpert = 0, kDone = 1, kSent = 2, kTotal = 3, kCount = 4 };

// Moves on to a row that is sent to `peer`, past `count` others that are. There is one.
__aicore__ inline void skip_rows(const CombineTiling& tiling, uint32_t peer, uint32_t count, uint32_t& expert,
                                 uint32_t& done) {
    for (; expert < tiling.common.local_experts; ++expert, done = 0) {
        const RowRange rows = rows_for(tiling, expert, peer);
        for (; rows.begin + done < rows.end; ++done) {
            if (!is_sent(tiling, rows.begin + done)) continue;
            if (count-- == 0) return;
        }
    }
}

// One row by a queue, when its ring and its staging slots allow. True: one was sent.
__aicore__ inline bool send_one(CoreContext& ctx, const CombineTiling& tiling, RowImages& images, WqeWriter& writer,
                                const QueueId& id, AscendC::LocalTensor<uint32_t> state) {
    const uint32_t sent = state.GetValue(static_cast<uint32_t>(SendWord::kSent));
    // Completions come in any order: staging slots are used again only when all WQEs that read them have completed.
    const uint32_t slot = sent % staging_rows(ctx);
    const bool is_staging_free = slot != 0 || completed_wqes(ctx, id) == sent;
    if (!is_staging_free || free_wqes(ctx, id, sent) == 0) return false;
    uint32_t expert = state.GetValue(static_cast<uint32_t>(SendWord::kExpert));
    uint32_t done = state.GetValue(static_cast<uint32_t>(SendWord::kDone));
    // The next item of this queue: the first passes by those of the queues before it, each other one by a round of all.
    skip_rows(tiling, id.peer, sent == 0 ? id.number : ctx.tiling->queues_per_peer - 1, expert, done);
    const uint32_t row = rows_for(tiling, expert, id.peer).begin + done;
    const uint32_t row_bytes = ctx.tiling->window.row_slot_bytes;
    GM_ADDR staging = ctx.window + region_offset(ctx, WindowRegion::kCombineStaging) +
                      (uint64_t(id.peer) * kCombineStagingRows + id.number * staging_rows(ctx)) * row_bytes;
    images.put_row(tiling, row, staging + uint64_t(slot) * row_bytes);
    sync<AscendC::HardEvent::MTE3_S>();  // ORDER P15: the row in its staging slot, then its WQE
    writer.slots().SetValue(0, slot);
    sync<AscendC::HardEvent::S_V>();
    const WqeBatch batch{id,
                         (uint64_t)staging,
                         region_offset(ctx, combine_half(ctx.uses)),
                         row_bytes,
                         tiling.row.blocks * kBlockBytes,
                         slot_index(tiling, row),
                         1,
                         sent,
                         1};
    writer.write(ctx, batch);
    state.SetValue(static_cast<uint32_t>(SendWord::kExpert), expert);
    state.SetValue(static_cast<uint32_t>(SendWord::kDone), done + 1);
    state.SetValue(static_cast<uint32_t>(SendWord::kSent), sent + 1);
    return true;
}

// Rows by the queues this core owns, one at a time in turn, so that no queue's ring holds up another's.
__aicore__ inline void send_to_owned(CoreContext& ctx, const CombineTiling& tiling, RowImages& images, uint32_t index) {
    constexpr uint32_t kWords = static_cast<uint32_t>(SendWord::kCount);
    const uint32_t num_queues = owned_queues(ctx, index, tiling.send.count);
    AscendC::TBuf<AscendC::TPosition::VECCALC> buffer;
    ctx.pipe->InitBuffer(buffer, static_cast<uint32_t>(align_up((num_queues + 1) * kWords * 4, kUnitBytes)));
    AscendC::LocalTensor<uint32_t> state = buffer.Get<uint32_t>();
    for (uint32_t j = 0; j < num_queues; ++j) {
        for (uint32_t word = 0; word < kWords; ++word)
            state.SetValue(j * kWords + word, 0U);
        const QueueId id = owned_queue(ctx, index, tiling.send.count, j);
        state.SetValue(j * kWords + static_cast<uint32_t>(SendWord::kTotal),
                       items_of_queue(ctx, id, rows_to(ctx, tiling, id.peer)));
    }
    WqeWriter writer;
    writer.begin(ctx);
    Wait wait(ctx, Stage::kSend, ctx.tiling->rank, 0);
    uint32_t open = kMaxRanks;  // a peer that still gets rows
    bool has_moved = true;
    do {
        if (!has_moved && !wait.go_on_for(open, 0)) return;
        open = kMaxRanks;
        has_moved = false;
        for (uint32_t j = 0; j < num_queues; ++j) {
            AscendC::LocalTensor<uint32_t> own = state[j * kWords];
            if (own.GetValue(static_cast<uint32_t>(SendWord::kSent)) ==
                own.GetValue(static_cast<uint32_t>(SendWord::kTotal))) {
                continue;
            }
            const QueueId id = owned_queue(ctx, index, tiling.send.count, j);
            open = id.peer;
            if (send_one(ctx, tiling, images, writer, id, own)) has_moved = true;
        }
    } while (open != kMaxRanks);
}

__aicore__ inline void send_urma(CoreContext& ctx, const CombineTiling& tiling, uint32_t index) {
    RowImages images;
    images.begin(ctx, tiling);
    send_to_owned(ctx, tiling, images, index);
    if (!ctx.has_failed && !reads_own_rows(tiling)) put_rows(ctx, tiling, images, index, ctx.tiling->rank);
    images.end(ctx, tiling);
}

__aicore__ inline void send(CoreContext& ctx, const CombineTiling& tiling, uint32_t index) {
    if (!wait_validated(ctx) || !wait_rule_h(ctx, Stage::kSend, tiling.control)) return;
    enter_stage(ctx, Stage::kSend);
    if (tiling.engine == static_cast<uint32_t>(CombineEngine::kUrma)) {
        send_urma(ctx, tiling, index);
    } else {
        send_mte(ctx, tiling, index);
    }
    reset_ub(ctx);
}

// Rings for every row as soon as its WQE is built: the row is in its staging slot by then.
class RowGate {
  public:
    __aicore__ inline RowGate(const CoreContext& ctx, const CombineTiling& tiling) : ctx_(ctx), tiling_(tiling) {}
    __aicore__ inline uint32_t expected(const QueueId& id) const {
        return items_of_queue(ctx_, id, rows_to(ctx_, tiling_, id.peer));
    }
    __aicore__ inline void refresh() {}
    __aicore__ inline uint32_t ready(const QueueId&, uint32_t, uint32_t built) const { return built; }

  private:
    const CoreContext& ctx_;
    const CombineTiling& tiling_;
};

__aicore__ inline void send_doorbell(CoreContext& ctx, const CombineTiling& tiling, uint32_t index) {
    if (!wait_validated(ctx)) return;
    enter_stage(ctx, Stage::kDoorbell);
    RowGate gate(ctx, tiling);
    serve_queues(ctx, index, tiling.doorbell.count, gate);
    reset_ub(ctx);
}

}  // namespace ascend_deepep::kernel

#endif  // ASCEND_DEEPEP_COMBINE_SEND_H
