// SPDX-License-Identifier: Apache-2.0
//
// Sums of rows in UB, tile by tile: float32 from zero, in the order of the rows, multiply then add, one rounding to the
// type of the rows. Layer: combine. Reduce sums a token by it, and by rank the senders their partials.
#ifndef ASCEND_DEEPEP_COMBINE_SUM_H
#define ASCEND_DEEPEP_COMBINE_SUM_H

#include "combine/rows.h"
#include "quant/element.h"

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
// is one. No rows and no addend: zeros. The data of a block are `out_block_bytes` from those of the next: 480 in a
// row, 512 in an image of blocks. `out` may be the first of the rows.
template <typename T, bool kIsWeighted>
__simt_vf__ __launch_bounds__(1024) inline void sum_rows(__ubuf__ T* out, __ubuf__ uint4* rows, __ubuf__ float* weights,
                                                         __ubuf__ uint4* addend, uint32_t num_rows,
                                                         uint32_t row_elements, uint32_t num_elements,
                                                         uint32_t has_addend, uint32_t out_block_bytes) {
    constexpr uint32_t kBlockPacks = kBlockDataBytes / (kPackElements * kElementBytes);
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
        const uint32_t block = pack / kBlockPacks;
        __ubuf__ T* to = out + block * (out_block_bytes / kElementBytes) + (pack - block * kBlockPacks) * kPackElements;
        ASCEND_DEEPEP_KEEP_LOOP
        for (uint32_t i = 0; i < kPackWords; ++i) {
            round_to(to + 2 * i, low[i]);
            round_to(to + 2 * i + 1, high[i]);
        }
    }
}

// Blocks of a row of 16-bit elements: what is summed at a time is counted in them, however the row travels.
__aicore__ inline uint32_t element_blocks(const CombineTiling& tiling) {
    return blocks_for(uint64_t(tiling.common.hidden) * kElementBytes);
}

// The part of a row that is summed at a time.
struct Tile {
    uint32_t first_block;
    uint32_t offset;  // in bytes of the row
    uint32_t bytes;
};

__aicore__ inline uint32_t tile_bytes(const CombineTiling& tiling) {
    return tiling.reduce_blocks * kBlockDataBytes;
}

__aicore__ inline Tile tile_at(const CombineTiling& tiling, uint32_t first_block) {
    const uint32_t offset = first_block * kBlockDataBytes;
    const uint32_t left = tiling.common.hidden * kElementBytes - offset;
    return Tile{first_block, offset, left < tile_bytes(tiling) ? left : tile_bytes(tiling)};
}

// Operands of a sum: tiles in UB, those of the rows one behind the other.
struct SumOperands {
    AscendC::LocalTensor<uint8_t> out;
    AscendC::LocalTensor<uint8_t> rows;
    AscendC::LocalTensor<float> weights;
    AscendC::LocalTensor<uint8_t> addend;
    uint32_t num_rows;
    bool is_weighted;
    bool has_addend;
    uint32_t out_block_bytes;
};

template <typename T, bool kIsWeighted>
__aicore__ inline void start_sum_of(const CombineTiling& tiling, const SumOperands& sum, uint32_t bytes) {
    asc_vf_call<sum_rows<T, kIsWeighted>>(
        dim3(tiling.common.simt_width), (__ubuf__ T*)ub_pointer(sum.out), (__ubuf__ uint4*)ub_pointer(sum.rows),
        ub_pointer(sum.weights), (__ubuf__ uint4*)ub_pointer(sum.addend), sum.num_rows,
        tile_bytes(tiling) / kElementBytes, bytes / kElementBytes, sum.has_addend ? 1U : 0U, sum.out_block_bytes);
}

// Of the first `bytes` bytes of the tiles.
template <typename T>
__aicore__ inline void start_sum(const CombineTiling& tiling, const SumOperands& sum, uint32_t bytes) {
    if (sum.is_weighted) {
        start_sum_of<T, true>(tiling, sum, bytes);
    } else {
        start_sum_of<T, false>(tiling, sum, bytes);
    }
}

}  // namespace ascend_deepep::kernel

#endif  // ASCEND_DEEPEP_COMBINE_SUM_H
