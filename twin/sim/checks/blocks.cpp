// SPDX-License-Identifier: Apache-2.0
// Layer: twin/sim.
#include "twin/sim/checks/blocks.h"

namespace ascend_deepep::sim {
namespace {

// Bytes of the region that belong to one source rank; 0: any rank may write any of it.
uint64_t source_bytes(const WindowArena& arena, WindowRegion region, uint64_t num_ranks) {
    switch (region) {
        case WindowRegion::kControlRing:
        case WindowRegion::kAbort:
        case WindowRegion::kDispatchHalf0:
        case WindowRegion::kDispatchHalf1:
            return arena.layout().regions[static_cast<uint32_t>(region)].bytes / num_ranks;
        case WindowRegion::kControlPage:
        case WindowRegion::kSendBuffer:
        case WindowRegion::kCombineHalf0:
        case WindowRegion::kCombineHalf1:
        case WindowRegion::kCombineStaging:
        case WindowRegion::kCount:
            return 0;
    }
    return 0;
}

bool is_for_peers(WindowRegion region) {
    return region != WindowRegion::kControlPage && region != WindowRegion::kSendBuffer &&
           region != WindowRegion::kCombineStaging && region != WindowRegion::kCount;
}

}  // namespace

std::string block_fault(const WindowArena& arena, const RemoteWrite& write) {
    const std::string who = "rank " + std::to_string(write.from) + " writes " + std::to_string(write.bytes) +
                            " B at offset " + std::to_string(write.offset) + " of the window of rank " +
                            std::to_string(write.to);
    if ((write.offset | write.bytes) % kBlockBytes != 0 || write.bytes == 0) return who + ": not whole blocks";
    const WindowRegion region = arena.region_of(write.offset, write.bytes);
    if (!is_for_peers(region)) return who + ": not in one region that peers may write";
    const uint64_t part = source_bytes(arena, region, arena.num_ranks());
    if (part == 0) return "";
    const uint64_t begin = write.offset - arena.layout().regions[static_cast<uint32_t>(region)].offset;
    const bool is_own = begin / part == write.from && (begin + write.bytes - 1) / part == write.from;
    return is_own ? "" : who + ": the part of another source";
}

}  // namespace ascend_deepep::sim
