// SPDX-License-Identifier: Apache-2.0
//
// Partials: rows of one token that this rank has computed, summed before they return. Layer: combine.
// docs/protocol.md, "Sums by rank".
#ifndef ASCEND_DEEPEP_COMBINE_PARTIAL_H
#define ASCEND_DEEPEP_COMBINE_PARTIAL_H

#include "combine/sum.h"

namespace ascend_deepep::kernel {

// UB of the sender's sums: tiles of a token's rows, and their weights.
class PartialSums {
  public:
    __aicore__ inline void begin(CoreContext& ctx, const CombineTiling& tiling) {
        ctx.pipe->InitBuffer(rows_, tiling.common.num_columns * tile_bytes(tiling));
        ctx.pipe->InitBuffer(weights_, static_cast<uint32_t>(align_up(kMaxColumns * sizeof(float), kUnitBytes)));
    }

    // The rows of the chain that begins at `head`, to an image of blocks. The image is MTE2's to write, and MTE3 may
    // read it behind this.
    template <typename T>
    __aicore__ inline void sum(const CombineTiling& tiling, uint32_t head, const AscendC::LocalTensor<uint8_t>& image) {
        uint32_t rows[kMaxColumns];
        const uint32_t count = follow(tiling, head, rows);
        for (uint32_t block = 0; block < element_blocks(tiling); block += tiling.reduce_blocks) {
            const Tile tile = tile_at(tiling, block);
            sync<AscendC::HardEvent::V_MTE2>();  // the sum before has read its rows
            for (uint32_t i = 0; i < count; ++i) {
                copy_in(rows_.Get<uint8_t>()[i * tile_bytes(tiling)], expert_row(tiling, rows[i]) + tile.offset,
                        tile.bytes);
            }
            sync<AscendC::HardEvent::MTE2_V>();
            const AscendC::LocalTensor<uint8_t> all = rows_.Get<uint8_t>();
            const SumOperands operands{image[tile.first_block * kBlockBytes],
                                       all,
                                       weights_.Get<float>(),
                                       all,
                                       count,
                                       tiling.expand_scales != 0,
                                       false,
                                       kBlockBytes};
            start_sum<T>(tiling, operands, tile.bytes);
        }
        sync<AscendC::HardEvent::V_MTE3>();
    }

  private:
    // The rows of a chain, and their weights to UB. Returns how many there are.
    __aicore__ inline uint32_t follow(const CombineTiling& tiling, uint32_t head, uint32_t* rows) {
        sync<AscendC::HardEvent::V_S>();  // the sum before has read its weights
        uint32_t count = 0;
        for (uint32_t row = head + 1; row != 0 && count < kMaxColumns; row = chain_of(tiling, row - 1).next) {
            rows[count] = row - 1;
            if (tiling.expand_scales != 0) weights_.Get<uint32_t>().SetValue(count, row_weight_bits(tiling, row - 1));
            ++count;
        }
        sync<AscendC::HardEvent::S_V>();
        return count;
    }

    AscendC::TBuf<AscendC::TPosition::VECCALC> rows_, weights_;
};

}  // namespace ascend_deepep::kernel

#endif  // ASCEND_DEEPEP_COMBINE_PARTIAL_H
