// SPDX-License-Identifier: Apache-2.0
//
// CumSum: posts the control messages, reads the peers', and turns rows per (local expert, source) into block bases.
// Layer: dispatch. docs/protocol.md, P6, P8 to P10. Cores split sources first, then local experts.
#ifndef ASCEND_DEEPEP_DISPATCH_CUMSUM_H
#define ASCEND_DEEPEP_DISPATCH_CUMSUM_H

#include "dispatch/wqe_builder.h"
#include "protocol/exchange.h"

namespace ascend_deepep::kernel {

constexpr uint32_t kRecvInfoWords = 2;  // copies, tokens

struct Slice {
    uint32_t first;
    uint32_t count;
};

__aicore__ inline Slice slice_of(uint32_t total, uint32_t index, uint32_t count) {
    const uint32_t first = static_cast<uint32_t>(uint64_t(total) * index / count);
    const uint32_t last = static_cast<uint32_t>(uint64_t(total) * (index + 1) / count);
    return Slice{first, last - first};
}

// What becomes of an arrived message: its rows and sizes go to the workspace.
class MessageKeeper {
  public:
    __aicore__ inline explicit MessageKeeper(CoreContext& ctx) : ctx_(ctx) {}

    __aicore__ inline void operator()(uint32_t source, const ControlHeader& header, MessageReader& reader) {
        if (!verdict.take(ctx_, source, header)) return;
        const uint32_t bytes = ctx_.tiling->local_experts * static_cast<uint32_t>(sizeof(uint32_t));
        reader.save_extra(workspace_region(ctx_, WorkspaceRegion::kRecvRows) + uint64_t(source) * bytes, bytes);
        __gm__ uint32_t* info =
            (__gm__ uint32_t*)workspace_region(ctx_, WorkspaceRegion::kRecvInfo) + source * kRecvInfoWords;
        store(info, header.num_copies);
        store(info + 1, header.num_tokens);
    }

    Verdict verdict;

  private:
    CoreContext& ctx_;
};

// Words of kExpertRows that are of the experts of a rank.
__aicore__ inline Slice expert_rows_of(const CommonTiling& common, uint32_t rank) {
    const uint32_t shared_ranks = common.shared_expert_rank_num;
    if (rank < shared_ranks) return Slice{rank, 1};
    return Slice{shared_ranks + (rank - shared_ranks) * common.experts_per_rank, common.experts_per_rank};
}

// This core's share of the exchange. False: the operation failed.
__aicore__ inline bool exchange_messages(CoreContext& ctx, const DispatchTiling& tiling, uint32_t index,
                                         const Refusal& own) {
    const CommonTiling& common = tiling.common;
    constexpr uint32_t kWord = sizeof(uint32_t);
    GM_ADDR rows = workspace_region(ctx, WorkspaceRegion::kExpertRows);
    const bool is_refused = own.code != Code::kOk;
    MessagePoster poster;
    poster.begin(ctx);
    ControlHeader header = make_header(ctx, own);
    header.num_tokens = common.num_tokens;
    for (uint32_t i = index; i < common.num_ranks; i += tiling.cumsum.count) {
        const uint32_t peer = (common.rank + 1 + i) % common.num_ranks;
        header.num_copies = is_refused ? 0 : copies_to(ctx, peer);
        const Slice extra = expert_rows_of(common, peer);
        poster.post(ctx, peer, header, rows + extra.first * kWord, is_refused ? 0 : extra.count * kWord);
    }
    poster.end(ctx);
    const Slice sources = slice_of(common.num_ranks, index, tiling.cumsum.count);
    MessageReader reader;
    reader.begin(ctx);
    MessageKeeper keeper(ctx);
    if (!await_messages(ctx, Stage::kCumsum, sources.first, sources.count, reader, keeper)) return false;
    keeper.verdict.announce(ctx, index);
    reset_ub(ctx);
    return true;
}

// Sum of the partial sums of the cumsum cores before this one.
__aicore__ inline bool sum_before(CoreContext& ctx, const DispatchTiling& tiling, uint32_t index, uint32_t& sum) {
    sum = 0;
    for (uint32_t i = 0; i < index; ++i) {
        uint32_t partial = 0;
        if (!wait_flag(ctx, Stage::kPrefix, &ctx.page->cores[tiling.cumsum.first + i].partial, partial)) return false;
        sum += partial;
    }
    return true;
}

// UB tables of the prefix: rows received [source][expert], and this core's slices of the three results.
struct PrefixTables {
    AscendC::TBuf<AscendC::TPosition::VECCALC> rows, bases, counts, nums;

    __aicore__ inline void begin(CoreContext& ctx) {
        const uint32_t blocks = ctx.tiling->num_ranks * ctx.tiling->local_experts;
        const uint32_t bytes = static_cast<uint32_t>(align_up(blocks * sizeof(uint32_t), kUnitBytes));
        ctx.pipe->InitBuffer(rows, bytes);
        ctx.pipe->InitBuffer(bases, bytes);
        ctx.pipe->InitBuffer(counts, bytes);
        ctx.pipe->InitBuffer(nums, static_cast<uint32_t>(align_up(ctx.tiling->local_experts * sizeof(int64_t), 32)));
        copy_in(rows.Get<uint8_t>(), workspace_region(ctx, WorkspaceRegion::kRecvRows),
                blocks * static_cast<uint32_t>(sizeof(uint32_t)));
        sync<AscendC::HardEvent::MTE2_S>();
    }
};

// Running sums over this core's experts, beginning at `sum`. Returns the sum after them.
__aicore__ inline uint64_t prefix_sums(const DispatchTiling& tiling, PrefixTables& tables, const Slice& experts,
                                       uint64_t sum) {
    const uint32_t num_ranks = tiling.common.num_ranks;
    AscendC::LocalTensor<uint32_t> rows = tables.rows.Get<uint32_t>();
    for (uint32_t e = 0; e < experts.count; ++e) {
        const uint64_t before = sum;
        for (uint32_t source = 0; source < num_ranks; ++source) {
            tables.bases.Get<uint32_t>().SetValue(e * num_ranks + source, static_cast<uint32_t>(sum));
            sum += rows.GetValue(source * tiling.common.local_experts + experts.first + e);
            tables.counts.Get<uint32_t>().SetValue(e * num_ranks + source, static_cast<uint32_t>(sum));
        }
        const uint64_t num = tiling.expert_token_nums_type == 0 ? sum : sum - before;
        tables.nums.Get<int64_t>().SetValue(e, static_cast<int64_t>(num));
    }
    return sum;
}

__aicore__ inline bool place_blocks(CoreContext& ctx, const DispatchTiling& tiling, uint32_t index) {
    enter_stage(ctx, Stage::kPrefix);
    const Slice experts = slice_of(tiling.common.local_experts, index, tiling.cumsum.count);
    PrefixTables tables;
    tables.begin(ctx);
    const uint64_t partial = prefix_sums(tiling, tables, experts, 0);
    publish(ctx, &ctx.page->cores[ctx.core].partial, static_cast<uint32_t>(partial));
    uint32_t before = 0;
    if (!sum_before(ctx, tiling, index, before)) return false;  // ORDER P9
    const uint64_t total = prefix_sums(tiling, tables, experts, before);
    if (total > tiling.capacity_rows) {
        fail(ctx, Failure{Code::kCorruptBlock, Stage::kPrefix, ctx.tiling->rank, ctx.tiling->rank, 0, 0,
                          static_cast<int64_t>(total), static_cast<int64_t>(tiling.capacity_rows)});
        return false;
    }
    if (experts.count != 0) {
        sync<AscendC::HardEvent::S_MTE3>();
        const uint64_t first = uint64_t(experts.first) * tiling.common.num_ranks * sizeof(uint32_t);
        const uint32_t bytes = experts.count * tiling.common.num_ranks * static_cast<uint32_t>(sizeof(uint32_t));
        copy_out(workspace_region(ctx, WorkspaceRegion::kBlockBase) + first, tables.bases.Get<uint8_t>(), bytes);
        copy_out((GM_ADDR)tiling.ep_recv_counts + first, tables.counts.Get<uint8_t>(), bytes);
        copy_out((GM_ADDR)tiling.expert_token_nums + experts.first * sizeof(int64_t), tables.nums.Get<uint8_t>(),
                 experts.count * static_cast<uint32_t>(sizeof(int64_t)));
    }
    sync<AscendC::HardEvent::MTE3_S>();
    publish(ctx, &ctx.page->cores[ctx.core].placed, 0);  // ORDER P10: bases and counts, then `placed`
    reset_ub(ctx);
    return true;
}

// `own`: what this rank has against the call, as the host said; route may add to it.
__aicore__ inline void cumsum(CoreContext& ctx, const DispatchTiling& tiling, uint32_t index) {
    Refusal own = tiling.common.refusal;
    if (own.code == Code::kOk) {
        uint32_t code = 0;
        if (!wait_flag(ctx, Stage::kRoute, &ctx.page->route.word, code)) return;
        load_struct(&own, refusal_cell(ctx, 0));
    } else if (index == 0) {
        save_refusal(ctx, 0, own);
    }
    enter_stage(ctx, Stage::kCumsum);
    if (!exchange_messages(ctx, tiling, index, own)) return;
    bool is_refused = false;
    if (!wait_seen(ctx, Stage::kPrefix, tiling.cumsum, is_refused) || is_refused || own.code != Code::kOk) return;
    place_blocks(ctx, tiling, index);
}

}  // namespace ascend_deepep::kernel

#endif  // ASCEND_DEEPEP_DISPATCH_CUMSUM_H
