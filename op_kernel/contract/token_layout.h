// SPDX-License-Identifier: Apache-2.0
//
// Bytes of a token copy (dispatch) and of a row (combine) on the wire. Layer: contract. docs/protocol.md, "Wire
// format".
#ifndef ASCEND_DEEPEP_CONTRACT_TOKEN_LAYOUT_H
#define ASCEND_DEEPEP_CONTRACT_TOKEN_LAYOUT_H

#include "contract/block.h"
#include "contract/limits.h"

namespace ascend_deepep {

// The header of a token copy, the same in every copy of the token but for `column`. `num_entries` entries follow, then,
// where the call has expert_scales, a float32 weight per top-k column.
struct TokenHeader {
    uint16_t source_rank;
    uint16_t num_entries;  // top-k columns, then shared experts
    uint16_t token;        // index on the source rank
    uint16_t column;       // the one entry this copy is for; kAllColumns: all that the receiver hosts
};
static_assert(sizeof(TokenHeader) == 8, "wire struct");

constexpr uint16_t kAllColumns = 0xFFFF;
constexpr uint32_t pack_token(uint32_t token, uint32_t column) {
    return token | (column << 16);
}
constexpr uint32_t token_of(uint32_t word) {
    return word & 0xFFFFU;
}
constexpr uint32_t column_of(uint32_t word) {
    return word >> 16;
}

// One entry: the column is its index in the header.
struct TokenEntry {
    uint16_t expert;   // routed, or num_experts + the number of a shared one; kNoExpert: none or masked
    uint16_t ordinal;  // earlier (token, column) pairs of this source that chose the same expert
};
static_assert(sizeof(TokenEntry) == 4, "wire struct");

constexpr uint16_t kNoExpert = 0xFFFF;

constexpr uint32_t pack_entry(uint32_t expert, uint32_t ordinal) {
    return expert | (ordinal << 16);
}
constexpr uint32_t entry_expert(uint32_t entry) {
    return entry & 0xFFFFU;
}
constexpr uint32_t entry_ordinal(uint32_t entry) {
    return entry >> 16;
}
static_assert(kMaxTokens <= 0xFFFF, "an ordinal fits 16 bits: a token chooses an expert at most once");

// Bytes of a token copy: payload, scales, header, each at a whole 32 B unit.
struct TokenLayout {
    uint32_t payload_bytes;       // the hidden state, quantised or as it is
    uint32_t scale_offset;        // logical byte of the scales
    uint32_t scale_bytes;         // 0: none travel
    uint32_t header_offset;       // logical byte of the header
    uint32_t header_bytes;        // header, entries and weights, rounded up to 32 B
    uint32_t first_header_block;  // blocks before it hold payload only
    uint32_t blocks;
    uint32_t slot_bytes;
};

constexpr TokenLayout token_layout(uint32_t payload_bytes, uint32_t scale_bytes, uint32_t num_entries,
                                   uint32_t num_weights) {
    TokenLayout layout{};
    const uint64_t entry_bytes = uint64_t(num_entries) * sizeof(TokenEntry) + uint64_t(num_weights) * sizeof(float);
    layout.payload_bytes = payload_bytes;
    layout.scale_offset = static_cast<uint32_t>(align_up(payload_bytes, kUnitBytes));
    layout.scale_bytes = scale_bytes;
    layout.header_offset = static_cast<uint32_t>(align_up(layout.scale_offset + scale_bytes, kUnitBytes));
    layout.header_bytes = static_cast<uint32_t>(align_up(sizeof(TokenHeader) + entry_bytes, kUnitBytes));
    layout.first_header_block = layout.header_offset / kBlockDataBytes;
    layout.blocks = blocks_for(layout.header_offset + layout.header_bytes);
    layout.slot_bytes = layout.blocks * kBlockBytes;
    return layout;
}

// The widest copy of a communicator with these maxima: 16-bit elements as they are, and weights.
constexpr TokenLayout widest_token_layout(uint32_t hidden, uint32_t num_topk, uint32_t shared_expert_num) {
    return token_layout(hidden * kElementBytes, 0, num_topk + shared_expert_num, num_topk);
}

// Elements of a row that share a scale.
constexpr uint32_t kScaleGroup = 128;  // dispatch, of the modes with a float32 scale a group
constexpr uint32_t kMxGroup = 32;      // dispatch, MX
constexpr uint32_t kCombineGroup = 8;  // combine's int8

// Bytes of one combine row: the expert's output, nothing else (its slot says which token and column it is).
struct RowLayout {
    uint32_t payload_bytes;  // the row, quantised or as it is
    uint32_t scale_offset;   // logical byte of the scales, at a whole 32 B unit
    uint32_t scale_bytes;    // 0: none travel
    uint32_t blocks;
};

constexpr RowLayout row_layout(uint32_t hidden, bool is_int8) {
    RowLayout layout{};
    layout.payload_bytes = is_int8 ? hidden : hidden * kElementBytes;
    layout.scale_offset = static_cast<uint32_t>(align_up(layout.payload_bytes, kUnitBytes));
    layout.scale_bytes = is_int8 ? hidden / kCombineGroup * kElementBytes : 0;
    layout.blocks = blocks_for(layout.scale_offset + layout.scale_bytes);
    return layout;
}
// What reduce reads of an int8 row at a time, as whole blocks: the values of `blocks` blocks of 16-bit elements, which
// may begin in the middle of one, then their scales, which may begin anywhere.
constexpr uint32_t wire_value_blocks(uint32_t blocks) {
    return blocks / kElementBytes + 1;
}
constexpr uint32_t wire_tile_blocks(uint32_t blocks) {
    return wire_value_blocks(blocks) + static_cast<uint32_t>(ceil_div(blocks, kCombineGroup)) + 1;
}
// Rows that are not quantised are the widest.
constexpr uint32_t row_slot_bytes(uint32_t hidden) {
    return row_layout(hidden, false).blocks * kBlockBytes;
}

static_assert(token_layout(14336, 0, 8, 0).blocks == 30 && token_layout(14336, 0, 8, 0).header_offset == 14336,
              "as published");

}  // namespace ascend_deepep

#endif  // ASCEND_DEEPEP_CONTRACT_TOKEN_LAYOUT_H
