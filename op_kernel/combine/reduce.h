// SPDX-License-Identifier: Apache-2.0
//
// Reduce: waits for the rows of a token and sums them in float32, column ascending, multiply then add, what this rank
// has computed of a shared expert last, one rounding to the output type. Layer: combine. Bitwise independent of arrival
// order and of the number of ranks.
#ifndef ASCEND_DEEPEP_COMBINE_REDUCE_H
#define ASCEND_DEEPEP_COMBINE_REDUCE_H

#include "combine/send.h"
#include "quant/combine_int8.h"

namespace ascend_deepep::kernel {

// Adds two words of 16 B each of a row to the sums of their elements. A product and a sum are two roundings: never
// fused.
template <typename T, bool kIsWeighted>
__simt_callee__ inline void add_pack(float* low, float* high, __ubuf__ uint4* from, float weight) {
    const uint4 first = from[0];
    const uint4 second = from[1];
    const uint32_t words[kPackWords] = {first.x, first.y, first.z, first.w, second.x, second.y, second.z, second.w};
    ASCEND_DEEPEP_KEEP_LOOP
    for (uint32_t i = 0; i < kPackWords; ++i) {
        const float terms[2] = {low_element(words[i], T()), high_element(words[i], T())};
        low[i] = low[i] + (kIsWeighted ? weight * terms[0] : terms[0]);
        high[i] = high[i] + (kIsWeighted ? weight * terms[1] : terms[1]);
    }
}

// out[i] = sum over rows, in order, of weight * row[i], without weights the plain sum; then of addend[i], where there
// is one. No rows and no addend: zeros.
template <typename T, bool kIsWeighted>
__simt_vf__ __launch_bounds__(1024) inline void sum_rows(__ubuf__ T* out, __ubuf__ uint4* rows, __ubuf__ float* weights,
                                                         __ubuf__ uint4* addend, uint32_t num_rows,
                                                         uint32_t row_elements, uint32_t num_elements,
                                                         uint32_t has_addend) {
    const uint32_t row_packs = row_elements / kPackElements;
    const uint32_t num_packs = num_elements / kPackElements;
    for (uint32_t pack = threadIdx.x; pack < num_packs; pack += blockDim.x) {
        float low[kPackWords], high[kPackWords];
        for (uint32_t i = 0; i < kPackWords; ++i)
            low[i] = high[i] = 0.0F;
        for (uint32_t row = 0; row < num_rows; ++row) {
            add_pack<T, kIsWeighted>(low, high, rows + (row * row_packs + pack) * kPackLoads,
                                     kIsWeighted ? weights[row] : 1.0F);
        }
        if (has_addend != 0) add_pack<T, false>(low, high, addend + pack * kPackLoads, 1.0F);
        __ubuf__ T* to = out + pack * kPackElements;
        ASCEND_DEEPEP_KEEP_LOOP
        for (uint32_t i = 0; i < kPackWords; ++i) {
            round_to(to + 2 * i, low[i]);
            round_to(to + 2 * i + 1, high[i]);
        }
    }
}

struct ReduceBuffers {
    AscendC::TBuf<AscendC::TPosition::VECCALC> rows, out, addend, scales, weights;
    FlagReader flags;
    RowRing wire;  // tiles of int8 rows

    __aicore__ inline void begin(CoreContext& ctx, const CombineTiling& tiling) {
        if (tiling.is_int8 != 0) wire.begin(ctx, wire_tile_blocks(tiling.reduce_blocks) * kBlockDataBytes);
        const uint32_t tile_bytes = tiling.reduce_blocks * kBlockDataBytes;
        const uint32_t scale_bytes = static_cast<uint32_t>(align_up(kMaxColumns * sizeof(float), kUnitBytes));
        ctx.pipe->InitBuffer(rows, tiling.common.num_columns * tile_bytes);
        ctx.pipe->InitBuffer(out, tile_bytes);
        ctx.pipe->InitBuffer(addend, tiling.shared_expert_x != 0 ? tile_bytes : kUnitBytes);
        ctx.pipe->InitBuffer(scales, scale_bytes);
        ctx.pipe->InitBuffer(weights, scale_bytes);
        flags.begin(ctx, tiling.row.blocks);
    }
};

// The live columns of a token, ascending, and where their rows are.
struct LiveColumns {
    uint32_t column[kMaxColumns];
    uint32_t source[kMaxColumns];  // the rank that computes the row
    uint64_t row[kMaxColumns];     // address of its slot in the window; in expand_x where `is_own`
    bool is_own[kMaxColumns];
    uint32_t count;
    bool has_addend;  // its row of shared_expert_x counts
};

__aicore__ inline GM_ADDR received_row(const CoreContext& ctx, uint32_t token, uint32_t column) {
    const uint64_t slot = uint64_t(token) * ctx.tiling->num_columns + column;
    return ctx.window + region_offset(ctx, combine_half(ctx.uses)) + slot * ctx.tiling->window.row_slot_bytes;
}

__aicore__ inline void add_column(const CoreContext& ctx, const CombineTiling& tiling, uint32_t token, uint32_t column,
                                  uint32_t source, LiveColumns& live) {
    const uint32_t i = live.count++;
    live.column[i] = column;
    live.source[i] = source;
    live.is_own[i] = source == tiling.common.rank && reads_own_rows(tiling);
    if (live.is_own[i]) {
        __gm__ uint32_t* rows = (__gm__ uint32_t*)workspace_region(ctx, WorkspaceRegion::kOwnRows);
        live.row[i] = (uint64_t)expert_row(tiling, load(rows + uint64_t(token) * tiling.common.num_columns + column));
    } else {
        live.row[i] = (uint64_t)received_row(ctx, token, column);
    }
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

// Weights of the live columns, dense; shared experts have none. Weights of others are never used, whatever they are.
__aicore__ inline void load_weights(const CombineTiling& tiling, ReduceBuffers& ub, uint32_t token,
                                    const LiveColumns& live) {
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

template <typename T, bool kIsWeighted>
__aicore__ inline void start_sum(const CombineTiling& tiling, ReduceBuffers& ub, const LiveColumns& live,
                                 uint32_t row_elements, uint32_t num_elements) {
    asc_vf_call<sum_rows<T, kIsWeighted>>(dim3(tiling.common.simt_width), ub_pointer(ub.out.Get<T>()),
                                          (__ubuf__ uint4*)ub_pointer(ub.rows.Get<uint8_t>()),
                                          ub_pointer(ub.weights.Get<float>()),
                                          (__ubuf__ uint4*)ub_pointer(ub.addend.Get<uint8_t>()), live.count,
                                          row_elements, num_elements, live.has_addend ? 1U : 0U);
}

// Blocks of a row of 16-bit elements: what is summed at a time is counted in them, however the row travels.
__aicore__ inline uint32_t element_blocks(const CombineTiling& tiling) {
    return blocks_for(uint64_t(tiling.common.hidden) * kElementBytes);
}

// Data bytes [begin, end) of a slot, by whole blocks, to UB. Returns where `begin` is in it.
__aicore__ inline uint32_t read_range(const AscendC::LocalTensor<uint8_t>& to, GM_ADDR slot, uint32_t begin,
                                      uint32_t end) {
    const uint32_t first = begin / kBlockDataBytes;
    read_blocks(to, slot + first * kBlockBytes, blocks_for(end) - first);
    return begin - first * kBlockDataBytes;
}

// Bytes [begin, begin + bytes) of the live rows, from a block's data on, to the tiles that are summed.
__aicore__ inline void read_tiles(const CombineTiling& tiling, ReduceBuffers& ub, const LiveColumns& live,
                                  uint32_t begin, uint32_t bytes) {
    const uint32_t tile_bytes = tiling.reduce_blocks * kBlockDataBytes;
    const uint32_t first = begin / kBlockDataBytes;
    for (uint32_t i = 0; i < live.count; ++i) {
        const AscendC::LocalTensor<uint8_t> tile = ub.rows.Get<uint8_t>()[i * tile_bytes];
        if (live.is_own[i]) {
            copy_in(tile, (GM_ADDR)live.row[i] + begin, bytes);
        } else {
            read_blocks(tile, (GM_ADDR)live.row[i] + first * kBlockBytes, blocks_for(bytes));  // ORDER P7
        }
    }
}

// Elements [first, first + count) of the live rows, which travel as int8, to the tiles that are summed.
template <typename T>
__aicore__ inline void decode_tiles(CoreContext& ctx, const CombineTiling& tiling, ReduceBuffers& ub,
                                    const LiveColumns& live, uint32_t first, uint32_t count) {
    const uint32_t tile_bytes = tiling.reduce_blocks * kBlockDataBytes;
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
                                    (__ubuf__ T*)ub_pointer(ub.rows.Get<uint8_t>()[i * tile_bytes]),
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
    const uint32_t left = element_blocks(tiling) - first_block;
    const uint32_t blocks = left < tiling.reduce_blocks ? left : tiling.reduce_blocks;
    const uint32_t tile_bytes = tiling.reduce_blocks * kBlockDataBytes;
    const uint32_t row_bytes = tiling.common.hidden * kElementBytes;
    const uint32_t offset = first_block * kBlockDataBytes;
    const uint32_t bytes =
        row_bytes - offset < blocks * kBlockDataBytes ? row_bytes - offset : blocks * kBlockDataBytes;
    sync<AscendC::HardEvent::V_MTE2>();
    if (tiling.is_int8 != 0) {
        decode_tiles<T>(ctx, tiling, ub, live, offset / kElementBytes, bytes / kElementBytes);
    } else {
        read_tiles(tiling, ub, live, offset, bytes);
    }
    if (live.has_addend) {
        copy_in(ub.addend.Get<uint8_t>(), (GM_ADDR)tiling.shared_expert_x + uint64_t(token) * row_bytes + offset,
                bytes);
    }
    sync<AscendC::HardEvent::MTE2_V>();
    sync<AscendC::HardEvent::MTE3_V>();
    const uint32_t stride = tile_bytes / kElementBytes;
    const uint32_t elements = bytes / kElementBytes;
    if (tiling.expert_scales != 0) {
        start_sum<T, true>(tiling, ub, live, stride, elements);
    } else {
        start_sum<T, false>(tiling, ub, live, stride, elements);
    }
    sync<AscendC::HardEvent::V_MTE3>();
    copy_out((GM_ADDR)tiling.x_out + uint64_t(token) * row_bytes + offset, ub.out.Get<uint8_t>(), bytes);
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
