// SPDX-License-Identifier: Apache-2.0
//
// Bytes of a token copy (dispatch) and of a row (combine) on the wire. Layer: contract. docs/protocol.md, "Wire
// format".
#ifndef ASCEND_DEEPEP_CONTRACT_TOKEN_LAYOUT_H
#define ASCEND_DEEPEP_CONTRACT_TOKEN_LAYOUT_H

#include "contract/block.h"
#include "contract/limits.h"

namespace ascend_deepep {

// The header of a token copy, the same in every copy of the token. `num_entries` entries follow.
struct TokenHeader {
    uint16_t source_rank;
    uint16_t num_entries;  // top-k columns, then shared experts
    uint32_t token;        // index on the source rank
};
static_assert(sizeof(TokenHeader) == 8, "wire struct");

// One entry: the column is its index in the header.
struct TokenEntry {
    uint16_t expert;   // kNoExpert: none or masked
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

struct TokenLayout {
    uint32_t payload_bytes;       // the hidden state
    uint32_t header_offset;       // logical byte of the header; a whole number of 32 B units
    uint32_t header_bytes;        // header and entries, rounded up to 32 B
    uint32_t first_header_block;  // blocks before it hold payload only
    uint32_t blocks;
    uint32_t slot_bytes;
};

constexpr TokenLayout token_layout(uint32_t hidden, uint32_t num_entries) {
    TokenLayout layout{};
    layout.payload_bytes = hidden * kElementBytes;
    layout.header_offset = static_cast<uint32_t>(align_up(layout.payload_bytes, kUnitBytes));
    layout.header_bytes =
        static_cast<uint32_t>(align_up(sizeof(TokenHeader) + num_entries * sizeof(TokenEntry), kUnitBytes));
    layout.first_header_block = layout.header_offset / kBlockDataBytes;
    layout.blocks = blocks_for(layout.header_offset + layout.header_bytes);
    layout.slot_bytes = layout.blocks * kBlockBytes;
    return layout;
}

// Blocks of one combine row: the expert's output, nothing else (its slot says which token and column it is).
constexpr uint32_t row_blocks(uint32_t hidden) {
    return blocks_for(uint64_t(hidden) * kElementBytes);
}
constexpr uint32_t row_slot_bytes(uint32_t hidden) {
    return row_blocks(hidden) * kBlockBytes;
}

static_assert(token_layout(7168, 8).blocks == 30 && token_layout(7168, 8).header_offset == 14336, "as published");

}  // namespace ascend_deepep

#endif  // ASCEND_DEEPEP_CONTRACT_TOKEN_LAYOUT_H
