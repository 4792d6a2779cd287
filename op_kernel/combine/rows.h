// SPDX-License-Identifier: Apache-2.0
//
// Rows of expand_x as combine's roles find them: by (local expert, source), by triple, by chain. Layer: combine. All of
// it is read behind `validated` (docs/protocol.md, P14).
#ifndef ASCEND_DEEPEP_COMBINE_ROWS_H
#define ASCEND_DEEPEP_COMBINE_ROWS_H

#include "routing/ids.h"

namespace ascend_deepep::kernel {

// Rows [begin, end) that local expert `expert` computed for rank `to`.
struct RowRange {
    uint32_t begin;
    uint32_t end;
};

__aicore__ inline RowRange rows_for(const CombineTiling& tiling, uint32_t expert, uint32_t to) {
    const uint32_t block = expert * tiling.common.num_ranks + to;
    __gm__ int32_t* counts = (__gm__ int32_t*)tiling.ep_send_counts;
    return RowRange{block == 0 ? 0U : static_cast<uint32_t>(load(counts + block - 1)),
                    static_cast<uint32_t>(load(counts + block))};
}

__aicore__ inline uint32_t slot_index(const CombineTiling& tiling, uint32_t row) {
    __gm__ int32_t* triple = (__gm__ int32_t*)tiling.assist_info + uint64_t(row) * kTripleWords;
    return static_cast<uint32_t>(load(triple + 1)) * tiling.common.num_columns +
           static_cast<uint32_t>(load(triple + 2));
}

__aicore__ inline GM_ADDR expert_row(const CombineTiling& tiling, uint32_t row) {
    return (GM_ADDR)tiling.expand_x + uint64_t(row) * tiling.common.hidden * kElementBytes;
}

__aicore__ inline RowChain chain_of(const CombineTiling& tiling, uint32_t row) {
    __gm__ uint32_t* words = (__gm__ uint32_t*)tiling.assist_info + chain_word(tiling.assist_trailer_offset, row);
    return RowChain{load(words), load(words + 1)};
}

// A row, or a partial by the first of its rows, is sent on its own.
__aicore__ inline bool is_sent(const CombineTiling& tiling, uint32_t row) {
    return !sums_by_rank(tiling.common) || chain_of(tiling, row).previous == 0;
}

// The weight of a row, where rows are summed by rank. Bits of a float: scalar loads past the cache are of integers.
__aicore__ inline uint32_t row_weight_bits(const CombineTiling& tiling, uint32_t row) {
    return load((__gm__ uint32_t*)tiling.expand_scales + row);
}

// Reduce reads rows of this rank's own tokens from expand_x. Those that travel as int8 take the way of all others: what
// a token's sum is may not depend on the rank that hosts its experts.
__aicore__ inline bool reads_own_rows(const CombineTiling& tiling) {
    return tiling.is_int8 == 0;
}

}  // namespace ascend_deepep::kernel

#endif  // ASCEND_DEEPEP_COMBINE_ROWS_H
