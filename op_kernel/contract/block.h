// SPDX-License-Identifier: Apache-2.0
//
// The unit of every remote write: 512 B blocks of 480 B data and a 32 B flag area. Layer: contract.
// The first 8 B of a flag area are the tag of the operation that wrote the block (docs/protocol.md, A1).
#ifndef ASCEND_DEEPEP_CONTRACT_BLOCK_H
#define ASCEND_DEEPEP_CONTRACT_BLOCK_H

#include <cstdint>

namespace ascend_deepep {

constexpr uint32_t kUnitBytes = 32;  // granule of a copy between GM and UB
constexpr uint32_t kBlockBytes = 512;
constexpr uint32_t kFlagBytes = 32;
constexpr uint32_t kBlockDataBytes = kBlockBytes - kFlagBytes;
constexpr uint32_t kBlockDataUnits = kBlockDataBytes / kUnitBytes;
constexpr uint32_t kFlagUnits = kFlagBytes / kUnitBytes;

static_assert(kBlockDataBytes == 480 && kBlockDataUnits == 15 && kFlagUnits == 1, "480 B data, one unit of flag");

constexpr uint64_t ceil_div(uint64_t a, uint64_t b) {
    return (a + b - 1) / b;
}
constexpr uint64_t align_up(uint64_t value, uint64_t unit) {
    return ceil_div(value, unit) * unit;
}

// Blocks that hold `bytes` of data.
constexpr uint32_t blocks_for(uint64_t bytes) {
    return static_cast<uint32_t>(ceil_div(bytes, kBlockDataBytes));
}

// Byte of a slot where data byte `logical` of the slot lies.
constexpr uint64_t slot_offset(uint64_t logical) {
    return logical / kBlockDataBytes * kBlockBytes + logical % kBlockDataBytes;
}

// Byte of a slot where the flag area of block `block` begins.
constexpr uint64_t flag_offset(uint64_t block) {
    return block * kBlockBytes + kBlockDataBytes;
}

}  // namespace ascend_deepep

#endif  // ASCEND_DEEPEP_CONTRACT_BLOCK_H
