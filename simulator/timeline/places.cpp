// SPDX-License-Identifier: Apache-2.0
// Layer: simulator.
#include "simulator/timeline/places.h"

#include <cstddef>

namespace ascend_deepep::simulator {
namespace {

struct Word {
    uint64_t offset;
    const char* name;
};

// By offset, each up to the next.
constexpr Word kPageWords[] = {
    {offsetof(ControlPage, state), "operation state"},     {offsetof(ControlPage, abort_word), "abort word"},
    {offsetof(ControlPage, arrivals), "arrivals"},         {offsetof(ControlPage, next_work), "next work"},
    {offsetof(ControlPage, record_claim), "record claim"}, {offsetof(ControlPage, route), "flag route"},
    {offsetof(ControlPage, validated), "flag validated"},  {offsetof(ControlPage, outcome), "outcome"},
    {offsetof(ControlPage, record), "error record"},
};

std::string page_place(uint64_t offset) {
    if (offset >= offsetof(ControlPage, completed)) return "flags completed";
    if (offset >= offsetof(ControlPage, built)) return "flags built";
    if (offset >= offsetof(ControlPage, times)) return "times of stages";
    if (offset >= offsetof(ControlPage, cores)) {
        return "flags of core " + std::to_string((offset - offsetof(ControlPage, cores)) / sizeof(CoreCell));
    }
    const char* name = "";
    for (const Word& word : kPageWords) {
        if (word.offset <= offset) name = word.name;
    }
    return name;
}

std::string numbered(const char* name, uint64_t number) {
    return std::string(name) + ' ' + std::to_string(number);
}

std::string window_place(const WindowLayout& layout, WindowRegion region, uint64_t at) {
    switch (region) {
        case WindowRegion::kControlPage:
            return page_place(at);
        case WindowRegion::kControlRing: {
            const uint64_t slot = at / (uint64_t{layout.control_blocks} * kBlockBytes);
            return numbered("message of rank", slot / kControlSlots) + numbered(", slot", slot % kControlSlots);
        }
        case WindowRegion::kAbort:
            return numbered("abort cell of rank", at / kBlockBytes);
        case WindowRegion::kSendBuffer:
            return numbered("send buffer, token", at / layout.token_slot_bytes);
        case WindowRegion::kDispatchHalf0:
            return numbered("dispatch half 0, slot", at / layout.token_slot_bytes);
        case WindowRegion::kDispatchHalf1:
            return numbered("dispatch half 1, slot", at / layout.token_slot_bytes);
        case WindowRegion::kCombineHalf0:
            return numbered("combine half 0, slot", at / layout.row_slot_bytes);
        case WindowRegion::kCombineHalf1:
            return numbered("combine half 1, slot", at / layout.row_slot_bytes);
        case WindowRegion::kCombineStaging:
            return numbered("combine staging, row", at / layout.row_slot_bytes);
        case WindowRegion::kCount:
            break;
    }
    return "between regions";
}

}  // namespace

std::string place_name(const sim::CommunicatorConfig& config, uint64_t offset) {
    if (offset >= sim::kMemoryLine) {
        const uint64_t rings = twin::UrmaEngine::memory_bytes(
            config.limits.num_ranks, config.queue_depth, config.cq_depth == 0 ? config.queue_depth : config.cq_depth,
            config.queues_per_peer);
        const uint64_t at = offset - sim::kMemoryLine;
        return numbered(at < rings ? "queues and tables, byte" : "workspace, byte", at);
    }
    const WindowLayout layout = window_layout(config.limits);
    for (uint32_t i = 0; i < kNumWindowRegions; ++i) {
        const Region& region = layout.regions[i];
        if (offset < region.offset || offset - region.offset >= region.bytes) continue;
        return window_place(layout, static_cast<WindowRegion>(i), offset - region.offset);
    }
    return "between regions";
}

std::string line_name(const sim::World& world, uint64_t line) {
    const uint32_t number = sim::communicator_of_line(line);
    const std::string place = place_name(world.communicator(number).config(), line - sim::first_line(number));
    return number == 0 ? place : numbered("communicator", number) + ": " + place;
}

}  // namespace ascend_deepep::simulator
