// SPDX-License-Identifier: Apache-2.0
// Layer: twin/sim.
#include "twin/sim/checks/reuse.h"

namespace ascend_deepep::sim {
namespace {

struct Half {
    OperationKind kind;
    uint64_t number;
};

bool half_of(WindowRegion region, Half* half) {
    switch (region) {
        case WindowRegion::kDispatchHalf0:
        case WindowRegion::kDispatchHalf1:
            *half = {OperationKind::kDispatch, region == WindowRegion::kDispatchHalf0 ? 0U : 1U};
            return true;
        case WindowRegion::kCombineHalf0:
        case WindowRegion::kCombineHalf1:
            *half = {OperationKind::kCombine, region == WindowRegion::kCombineHalf0 ? 0U : 1U};
            return true;
        case WindowRegion::kControlPage:
        case WindowRegion::kControlRing:
        case WindowRegion::kAbort:
        case WindowRegion::kSendBuffer:
        case WindowRegion::kCombineStaging:
        case WindowRegion::kCount:
            return false;
    }
    return false;
}

std::string ranks_of(const RemoteWrite& write) {
    return "rank " + std::to_string(write.from) + " to rank " + std::to_string(write.to);
}

std::string half_fault(const Half& half, const RemoteWrite& write, const ControlPage& sender,
                       const ControlPage& reader) {
    const uint64_t use = sender.state.uses[kind_index(half.kind)];
    const uint64_t read = reader.state.uses[kind_index(half.kind)];
    if (use % kNumHalves != half.number) {
        return ranks_of(write) + ": use " + std::to_string(use) + " written to half " + std::to_string(half.number);
    }
    if (use < kNumHalves || read + 1 >= use) return "";
    return ranks_of(write) + ": use " + std::to_string(use) + " of half " + std::to_string(half.number) +
           " is written while its reader has finished " + std::to_string(read) + " uses only";
}

std::string slot_fault(const WindowArena& arena, const RemoteWrite& write, const ControlPage& sender,
                       const ControlPage& reader) {
    const uint64_t slot_bytes = uint64_t{arena.layout().control_blocks} * kBlockBytes;
    const uint64_t begin =
        write.offset - arena.layout().regions[static_cast<uint32_t>(WindowRegion::kControlRing)].offset;
    const uint64_t slot = begin / slot_bytes % kControlSlots;
    const uint64_t sequence = sender.state.sequence;
    if (slot != sequence % kControlSlots) {
        return ranks_of(write) + ": message " + std::to_string(sequence) + " in slot " + std::to_string(slot);
    }
    if (reader.state.sequence + 1 >= sequence) return "";
    return ranks_of(write) + ": message " + std::to_string(sequence) +
           " overwrites a slot while its reader has finished " + std::to_string(reader.state.sequence) +
           " operations only";
}

}  // namespace

std::string reuse_fault(const WindowArena& arena, const RemoteWrite& write) {
    const ControlPage& sender = arena.page(write.from);
    const ControlPage& reader = arena.page(write.to);
    if (reader.state.is_broken != 0) return "";
    const WindowRegion region = arena.region_of(write.offset, write.bytes);
    if (region == WindowRegion::kControlRing) return slot_fault(arena, write, sender, reader);
    Half half{};
    return half_of(region, &half) ? half_fault(half, write, sender, reader) : "";
}

}  // namespace ascend_deepep::sim
