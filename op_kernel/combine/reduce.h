// SPDX-License-Identifier: Apache-2.0
//
// Reduce: waits for the rows of a token and sums them in float32, column ascending, multiply then add, what this rank
// has computed of a shared expert last, one rounding to the output type. Layer: combine. Bitwise independent of arrival
// order and of the number of ranks. By rank (docs/protocol.md, "Sums by rank"), partials take the place of rows, and
// that of this rank's own rows is summed here.
#ifndef ASCEND_DEEPEP_COMBINE_REDUCE_H
#define ASCEND_DEEPEP_COMBINE_REDUCE_H

#include "combine/send.h"
#include "combine/sum.h"
#include "quant/combine_int8.h"

namespace ascend_deepep::kernel {

struct ReduceBuffers {
    AscendC::TBuf<AscendC::TPosition::VECCALC> rows, out, addend, scales, weights;
    FlagReader flags;
    RowRing wire;  // tiles of int8 rows

    __aicore__ inline void begin(CoreContext& ctx, const CombineTiling& tiling) {
        if (tiling.is_int8 != 0) wire.begin(ctx, wire_tile_blocks(tiling.reduce_blocks) * kBlockDataBytes);
        const uint32_t tile = tile_bytes(tiling);
        const uint32_t num_tiles = tiling.common.num_columns + (sums_by_rank(tiling.common) ? 1 : 0);
        const uint32_t scale_bytes = static_cast<uint32_t>(align_up(kMaxColumns * sizeof(float), kUnitBytes));
        ctx.pipe->InitBuffer(rows, num_tiles * tile);
        ctx.pipe->InitBuffer(out, tile);
        ctx.pipe->InitBuffer(addend, tiling.shared_expert_x != 0 ? tile : kUnitBytes);
        ctx.pipe->InitBuffer(scales, scale_bytes);
        ctx.pipe->InitBuffer(weights, scale_bytes);
        flags.begin(ctx, tiling.row.blocks);
    }
};

// The live columns of a token, ascending, and where their rows are. By rank: the first live column of each rank, and
// where the rank's partial is.
struct LiveColumns {
    uint32_t column[kMaxColumns];
    uint32_t source[kMaxColumns];  // the rank that computes the row
    uint64_t row[kMaxColumns];     // address of its slot in the window; in expand_x where `is_own`
    bool is_own[kMaxColumns];
    uint32_t count;
    uint32_t own_row[kMaxColumns];  // by rank: rows of expand_x that make up this rank's own partial, in order
    uint32_t num_own;
    bool has_addend;  // its row of shared_expert_x counts
};

__aicore__ inline GM_ADDR received_row(const CoreContext& ctx, uint32_t token, uint32_t column) {
    const uint64_t slot = uint64_t(token) * ctx.tiling->num_columns + column;
    return ctx.window + region_offset(ctx, combine_half(ctx.uses)) + slot * ctx.tiling->window.row_slot_bytes;
}

__aicore__ inline void add_column(const CoreContext& ctx, const CombineTiling& tiling, uint32_t token, uint32_t column,
                                  uint32_t source, LiveColumns& live) {
    const bool is_own = source == tiling.common.rank && reads_own_rows(tiling);
    uint32_t own_row = 0;
    if (is_own) {
        __gm__ uint32_t* rows = (__gm__ uint32_t*)workspace_region(ctx, WorkspaceRegion::kOwnRows);
        own_row = load(rows + uint64_t(token) * tiling.common.num_columns + column);
    }
    if (sums_by_rank(tiling.common)) {
        if (is_own) live.own_row[live.num_own++] = own_row;
        for (uint32_t i = 0; i < live.count; ++i) {
            if (live.source[i] == source) return;
        }
    }
    const uint32_t i = live.count++;
    live.column[i] = column;
    live.source[i] = source;
    live.is_own[i] = is_own;
    live.row[i] = (uint64_t)(is_own ? expert_row(tiling, own_row) : received_row(ctx, token, column));
}

__aicore__ inline LiveColumns live_columns(const CoreContext& ctx, const CombineTiling& tiling, uint32_t token) {
    const CommonTiling& common = tiling.common;
    LiveColumns live{};
    __gm__ int32_t* row = (__gm__ int32_t*)workspace_region(ctx, WorkspaceRegion::kLiveIds) +
                          uint64_t(token) * live_words(common.num_topk);
    for (uint32_t column = 0; column < common.num_topk; ++column) {
        const int32_t id = load(row + column);
        if (id < 0) continue;
        const uint32_t source =
            routed_host(static_cast<uint32_t>(id), common.experts_per_rank, common.shared_expert_rank_num);
        add_column(ctx, tiling, token, column, source, live);
    }
    if (load(row + common.num_topk) == 0) return live;
    for (uint32_t shared = 0; shared < common.shared_expert_num; ++shared) {
        add_column(ctx, tiling, token, common.num_topk + shared,
                   shared_host(shared, common.shared_replicas, common.rank), live);
    }
    live.has_addend = tiling.shared_expert_x != 0;
    return live;
}

// By rank: weights of the own rows. Other partials are sums of weighted rows.
__aicore__ inline void load_own_weights(const CombineTiling& tiling, ReduceBuffers& ub, const LiveColumns& live) {
    if (tiling.expand_scales == 0) return;
    sync<AscendC::HardEvent::V_S>();  // the sum before has read its weights
    for (uint32_t i = 0; i < live.num_own; ++i)
        ub.weights.Get<uint32_t>().SetValue(i, row_weight_bits(tiling, live.own_row[i]));
    sync<AscendC::HardEvent::S_V>();
}

// Weights of the live columns, dense; shared experts have none. Weights of others are never used, whatever they are.
__aicore__ inline void load_weights(const CombineTiling& tiling, ReduceBuffers& ub, uint32_t token,
                                    const LiveColumns& live) {
    if (sums_by_rank(tiling.common)) return load_own_weights(tiling, ub, live);
    if (tiling.expert_scales == 0) return;
    const uint32_t num_topk = tiling.common.num_topk;
    const uint32_t bytes = num_topk * static_cast<uint32_t>(sizeof(float));
    copy_in(ub.scales.Get<uint8_t>(), (GM_ADDR)tiling.expert_scales + uint64_t(token) * bytes, bytes);
    sync<AscendC::HardEvent::MTE2_S>();
    sync<AscendC::HardEvent::V_S>();  // the sum before has read its weights
    for (uint32_t i = 0; i < live.count; ++i) {
        const bool is_shared = live.column[i] >= num_topk;
        ub.weights.Get<float>().SetValue(i, is_shared ? 1.0F : ub.scales.Get<float>().GetValue(live.column[i]));
    }
    sync<AscendC::HardEvent::S_V>();
    sync<AscendC::HardEvent::S_MTE2>();
}

// Data bytes [begin, end) of a slot, by whole blocks, to UB. Returns where `begin` is in it.
__aicore__ inline uint32_t read_range(const AscendC::LocalTensor<uint8_t>& to, GM_ADDR slot, uint32_t begin,
                                      uint32_t end) {
    const uint32_t first = begin / kBlockDataBytes;
    read_blocks(to, slot + first * kBlockBytes, blocks_for(end) - first);
    return begin - first * kBlockDataBytes;
}

// Parts of the live rows, by rank of partials from elsewhere, to the tiles that are summed.
__aicore__ inline void read_tiles(const CombineTiling& tiling, ReduceBuffers& ub, const LiveColumns& live,
                                  const Tile& tile) {
    for (uint32_t i = 0; i < live.count; ++i) {
        const AscendC::LocalTensor<uint8_t> to = ub.rows.Get<uint8_t>()[i * tile_bytes(tiling)];
        if (!live.is_own[i]) {
            read_blocks(to, (GM_ADDR)live.row[i] + tile.first_block * kBlockBytes, blocks_for(tile.bytes));  // ORDER P7
        } else if (!sums_by_rank(tiling.common)) {
            copy_in(to, (GM_ADDR)live.row[i] + tile.offset, tile.bytes);
        }
    }
}

// By rank: the part of this rank's own partial, rounded as if it had come from elsewhere, to its place among the tiles.
// Its rows lie behind the partials.
template <typename T>
__aicore__ inline void sum_own_rows(const CombineTiling& tiling, ReduceBuffers& ub, const LiveColumns& live,
                                    const Tile& tile) {
    uint32_t own = 0;
    while (own < live.count && !live.is_own[own])
        ++own;
    if (own == live.count) return;
    const AscendC::LocalTensor<uint8_t> rows = ub.rows.Get<uint8_t>()[live.count * tile_bytes(tiling)];
    for (uint32_t i = 0; i < live.num_own; ++i)
        copy_in(rows[i * tile_bytes(tiling)], expert_row(tiling, live.own_row[i]) + tile.offset, tile.bytes);
    sync<AscendC::HardEvent::MTE2_V>();
    const SumOperands operands{ub.rows.Get<uint8_t>()[own * tile_bytes(tiling)],
                               rows,
                               ub.weights.Get<float>(),
                               rows,
                               live.num_own,
                               tiling.expand_scales != 0,
                               false,
                               kBlockDataBytes};
    start_sum<T>(tiling, operands, tile.bytes);
    AscendC::PipeBarrier<PIPE_V>();  // the partial, then the sum of partials
}

// Elements [first, first + count) of the live rows, which travel as int8, to the tiles that are summed.
template <typename T>
__aicore__ inline void decode_tiles(CoreContext& ctx, const CombineTiling& tiling, ReduceBuffers& ub,
                                    const LiveColumns& live, uint32_t first, uint32_t count) {
    constexpr uint32_t kScaleBytes = kElementBytes;
    const uint32_t scales_begin = tiling.row.scale_offset + first / kCombineGroup * kScaleBytes;
    const uint32_t scales_end = scales_begin + count / kCombineGroup * kScaleBytes;
    const uint32_t scales_at = wire_value_blocks(tiling.reduce_blocks) * kBlockDataBytes;
    ub.wire.open(ctx);
    for (uint32_t i = 0; i < live.count; ++i) {
        GM_ADDR slot = (GM_ADDR)live.row[i];
        AscendC::LocalTensor<uint8_t> wire = ub.wire.acquire();
        const uint32_t values = read_range(wire, slot, first, first + count);  // ORDER P7
        const uint32_t scales = read_range(wire[scales_at], slot, scales_begin, scales_end);
        ub.wire.fill_done();
        asc_vf_call<decode_wire<T>>(dim3(tiling.common.simt_width),
                                    (__ubuf__ T*)ub_pointer(ub.rows.Get<uint8_t>()[i * tile_bytes(tiling)]),
                                    (__ubuf__ uint4*)ub_pointer(wire[values]),
                                    (__ubuf__ uint32_t*)ub_pointer(wire[scales_at + scales]), count / kPackElements);
        ub.wire.release();
    }
    ub.wire.close(ctx);
    AscendC::PipeBarrier<PIPE_V>();  // decoded, then summed
}

template <typename T>
__aicore__ inline void sum_tile(CoreContext& ctx, const CombineTiling& tiling, ReduceBuffers& ub, uint32_t token,
                                const LiveColumns& live, uint32_t first_block) {
    const Tile tile = tile_at(tiling, first_block);
    const uint64_t place = uint64_t(token) * tiling.common.hidden * kElementBytes + tile.offset;
    const bool is_by_rank = sums_by_rank(tiling.common);
    sync<AscendC::HardEvent::V_MTE2>();
    if (tiling.is_int8 != 0) {
        decode_tiles<T>(ctx, tiling, ub, live, tile.offset / kElementBytes, tile.bytes / kElementBytes);
    } else {
        read_tiles(tiling, ub, live, tile);
    }
    if (is_by_rank) sum_own_rows<T>(tiling, ub, live, tile);
    if (live.has_addend) copy_in(ub.addend.Get<uint8_t>(), (GM_ADDR)tiling.shared_expert_x + place, tile.bytes);
    sync<AscendC::HardEvent::MTE2_V>();
    sync<AscendC::HardEvent::MTE3_V>();
    const SumOperands operands{ub.out.Get<uint8_t>(),
                               ub.rows.Get<uint8_t>(),
                               ub.weights.Get<float>(),
                               ub.addend.Get<uint8_t>(),
                               live.count,
                               tiling.expert_scales != 0 && !is_by_rank,
                               live.has_addend,
                               kBlockDataBytes};
    start_sum<T>(tiling, operands, tile.bytes);
    sync<AscendC::HardEvent::V_MTE3>();
    copy_out((GM_ADDR)tiling.x_out + place, ub.out.Get<uint8_t>(), tile.bytes);
}

// All rows of the token that come from elsewhere are in the window. False: they will not come.
__aicore__ inline bool wait_rows(CoreContext& ctx, const CombineTiling& tiling, ReduceBuffers& ub,
                                 const LiveColumns& live) {
    for (uint32_t i = 0; i < live.count; ++i) {
        if (live.is_own[i]) continue;
        const SourceWait timer(ctx);
        Wait wait(ctx, Stage::kReduce, live.source[i], ctx.tag);
        uint64_t seen = 0;
        while (!ub.flags.all_arrived((GM_ADDR)live.row[i], tiling.row.blocks, ctx.tag, seen)) {
            if (is_refused(ctx, tiling) || !wait.go_on(seen)) return false;
        }
        timer.arrived(live.source[i]);
    }
    return true;
}

template <typename T>
__aicore__ inline void reduce(CoreContext& ctx, const CombineTiling& tiling) {
    enter_stage(ctx, Stage::kReduce);
    ReduceBuffers ub;
    ub.begin(ctx, tiling);
    __gm__ uint64_t* next = (__gm__ uint64_t*)&ctx.page->next_work.word;
    uint64_t token = AscendC::AtomicAdd(next, uint64_t(1));
    while (token < tiling.common.num_tokens) {
        const LiveColumns live = live_columns(ctx, tiling, static_cast<uint32_t>(token));
        if (!wait_rows(ctx, tiling, ub, live)) return;
        load_weights(tiling, ub, static_cast<uint32_t>(token), live);
        for (uint32_t block = 0; block < element_blocks(tiling); block += tiling.reduce_blocks) {
            sum_tile<T>(ctx, tiling, ub, static_cast<uint32_t>(token), live, block);
        }
        token = AscendC::AtomicAdd(next, uint64_t(1));
    }
}

}  // namespace ascend_deepep::kernel

#endif  // ASCEND_DEEPEP_COMBINE_REDUCE_H
