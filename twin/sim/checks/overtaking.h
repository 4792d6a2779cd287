// SPDX-License-Identifier: Apache-2.0
// Checker "overtaking": a write into a window does not meet an older one to the same bytes that is not wholly visible.
// Nothing orders the two, so the older one could come last, or the reader find the data of one under the tag of the
// other; nor does a write of an operation come after that of a later operation to the same block. Asked for remote
// writes as they leave, and the first half for local ones as they are made. Layer: twin/sim. It says nothing of what a
// reader does: see "reuse" and "results".
#pragma once

#include <cstring>
#include <string>

#include "twin/sim/checks/blocks.h"

namespace ascend_deepep::sim {

// `older` is under way.
inline std::string overtaking_fault(const RemoteWrite& older, const RemoteWrite& newer) {
    const bool is_apart = older.to != newer.to || older.offset + older.bytes <= newer.offset ||
                          newer.offset + newer.bytes <= older.offset;
    if (is_apart) return "";
    return "rank " + std::to_string(newer.from) + " writes " + std::to_string(newer.bytes) + " B at offset " +
           std::to_string(newer.offset) + " of the window of rank " + std::to_string(newer.to) +
           " while a write of rank " + std::to_string(older.from) + " to it is under way";
}

// `source`: the blocks that leave.
inline std::string late_fault(const WindowArena& arena, const RemoteWrite& write, const uint8_t* source) {
    const uint64_t base = arena.page(write.from).state.tag_base;
    for (uint64_t flag = kBlockDataBytes; flag < write.bytes; flag += kBlockBytes) {
        uint64_t tag, there;
        std::memcpy(&tag, source + flag, sizeof(tag));
        std::memcpy(&there, arena.window(write.to) + write.offset + flag, sizeof(there));
        // What a window held at first is of another communicator, far from these tags.
        const bool is_ours = there - base < (uint64_t{1} << 31);
        if (!is_ours || there - base <= tag - base) continue;
        return "rank " + std::to_string(write.from) + " writes operation " + std::to_string(tag - base) +
               " over operation " + std::to_string(there - base) + " at offset " + std::to_string(write.offset) +
               " of the window of rank " + std::to_string(write.to);
    }
    return "";
}

}  // namespace ascend_deepep::sim
