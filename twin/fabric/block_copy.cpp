// SPDX-License-Identifier: Apache-2.0
// The block rule as code. Layer: twin/fabric.
// Through the caches, one pass in address order: a block's flag area comes after its data, and the release store of the
// tag orders the two. Past the caches, one fence for all blocks of the range: twin/runtime/copy_leaf.cpp.
#include "twin/fabric/block_copy.h"

#include <algorithm>
#include <cstring>

#include "contract/block.h"
#include "twin/runtime/copy_kernels.h"
#include "twin/runtime/flag_access.h"

namespace ascend_deepep::twin {
namespace {

constexpr size_t kTagBytes = sizeof(uint64_t);
constexpr size_t kFlagWords = kFlagBytes / kTagBytes;

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

// Flag areas, nothing else: a tag and the words behind it each.
void read_flags(const Pieces& pieces) {
    for (uint32_t i = 0; i < pieces.count; ++i) {
        uint8_t* dst = pieces.dst + pieces.dst_step * i;
        const uint8_t* src = pieces.src + pieces.src_step * i;
        uint64_t words[kFlagWords];
        words[0] = load_tag(src);
        std::memcpy(words + 1, src + kTagBytes, sizeof(words) - kTagBytes);
        std::memcpy(dst, words, sizeof(words));
    }
}

}  // namespace

void write_window(uint8_t* dst, const uint8_t* src, size_t bytes, bool is_past_caches) {
    if (place_in_block(dst) == 0 && bytes % kBlockBytes == 0) {
        const CopyKernels& kernels = copy_kernels();
        (is_past_caches ? kernels.stream_blocks : kernels.write_blocks)(dst, src, bytes / kBlockBytes);
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
    // Whole blocks apart, so all pieces begin at the same place of theirs.
    const bool is_regular = pieces.count == 1 || pieces.src_step % static_cast<int64_t>(kBlockBytes) == 0;
    if (is_regular && place_in_block(pieces.src) + pieces.bytes <= kBlockDataBytes) {
        copy_kernels().read_pieces(pieces);
        return;
    }
    if (is_regular && place_in_block(pieces.src) == kBlockDataBytes && pieces.bytes == kFlagBytes) {
        read_flags(pieces);
        return;
    }
    for (uint32_t i = 0; i < pieces.count; ++i)
        read_window(pieces.dst + pieces.dst_step * i, pieces.src + pieces.src_step * i, pieces.bytes);
}

}  // namespace ascend_deepep::twin
