// SPDX-License-Identifier: Apache-2.0
// The block rule as code. Layer: twin/fabric.
// One pass in address order: a block's flag area comes after its data, and the release store of the tag orders the two.
// (A fence per range, with all flag areas behind it, was three times slower.) Streaming stores would need a fence.
#include "twin/fabric/block_copy.h"

#include <algorithm>
#include <cstring>

#include "contract/block.h"
#include "twin/fabric/flag_access.h"
#include "twin/runtime/copy_units.h"

namespace ascend_deepep::twin {
namespace {

constexpr size_t kTagBytes = sizeof(uint64_t);

size_t place_in_block(const void* p) {
    return reinterpret_cast<uintptr_t>(p) % kBlockBytes;
}

// One flag area or a part of one. Without its first 8 B there is no tag in it, and no order to keep.
void write_flag_part(uint8_t* dst, const uint8_t* src, size_t bytes) {
    if (place_in_block(dst) != kBlockDataBytes || bytes < kTagBytes) {
        std::memcpy(dst, src, bytes);
        return;
    }
    std::memcpy(dst + kTagBytes, src + kTagBytes, bytes - kTagBytes);
    uint64_t tag;
    std::memcpy(&tag, src, kTagBytes);
    store_tag(dst, tag);
}

// Nearly all traffic: `count` whole blocks at a block boundary. The release store of a block's tag orders its data.
void write_blocks(uint8_t* dst, const uint8_t* src, size_t count) {
    constexpr size_t kTagUnit = kBlockDataBytes / sizeof(CopyUnit);
    for (size_t block = 0; block < count; ++block, dst += kBlockBytes, src += kBlockBytes) {
        copy_units(dst, src, kTagUnit);
        copy_units(dst + kBlockBytes - sizeof(CopyUnit), src + kBlockBytes - sizeof(CopyUnit), 1);
        uint64_t words[2];
        std::memcpy(words, src + kBlockDataBytes, sizeof(words));
        std::memcpy(dst + kBlockDataBytes + kTagBytes, words + 1, kTagBytes);
        store_tag(dst + kBlockDataBytes, words[0]);
    }
}

}  // namespace

void write_window(uint8_t* dst, const uint8_t* src, size_t bytes) {
    if (place_in_block(dst) == 0 && bytes % kBlockBytes == 0) {
        write_blocks(dst, src, bytes / kBlockBytes);
        return;
    }
    size_t at = 0;
    while (at < bytes) {
        const size_t place = place_in_block(dst + at);
        const bool is_flag = place >= kBlockDataBytes;
        const size_t size = std::min<size_t>((is_flag ? kBlockBytes : kBlockDataBytes) - place, bytes - at);
        if (is_flag) {
            write_flag_part(dst + at, src + at, size);
        } else {
            std::memcpy(dst + at, src + at, size);
        }
        at += size;
    }
}

void read_window(uint8_t* dst, const uint8_t* src, size_t bytes) {
    if (place_in_block(src) == kBlockDataBytes && bytes >= kTagBytes) {
        const uint64_t tag = load_tag(src);
        std::memcpy(dst, &tag, kTagBytes);
        dst += kTagBytes;
        src += kTagBytes;
        bytes -= kTagBytes;
    }
    std::memcpy(dst, src, bytes);
}

void read_window(const Pieces& pieces) {
    for (uint32_t i = 0; i < pieces.count; ++i) {
        uint8_t* dst = pieces.dst + pieces.dst_step * i;
        const uint8_t* src = pieces.src + pieces.src_step * i;
        if (place_in_block(src) < kBlockDataBytes) {
            copy_piece(dst, src, pieces.bytes);
        } else {
            read_window(dst, src, pieces.bytes);
        }
    }
}

}  // namespace ascend_deepep::twin
