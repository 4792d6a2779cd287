// SPDX-License-Identifier: Apache-2.0
// Poison and shadow. Layer: twin/sim.
#include "twin/sim/arena.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "twin/runtime/fiber.h"

namespace ascend_deepep::sim {
namespace {

constexpr uint64_t kGapBytes = 4096;  // between windows: never anybody's

// Pages that arenas of a thread use one after the other: mapping and touching them costs more than filling them.
class Pages {
  public:
    ~Pages() {
        if (data_ != nullptr) twin::unmap_pages(data_, bytes_);
    }
    uint8_t* at_least(uint64_t bytes) {
        if (bytes > bytes_) {
            if (data_ != nullptr) twin::unmap_pages(data_, bytes_);
            data_ = twin::map_pages(bytes);
            bytes_ = bytes;
        }
        return reinterpret_cast<uint8_t*>(data_);
    }

  private:
    char* data_ = nullptr;
    uint64_t bytes_ = 0;
};

// Real memory is zeroed when a window is made. Where the protocol relies on it, so does this world.
bool is_zeroed(WindowRegion region) {
    return region == WindowRegion::kControlPage || region == WindowRegion::kAbort;
}

}  // namespace

void Shadow::mark(uint64_t offset, uint64_t bytes) {
    std::memset(bytes_.data() + offset, 1, bytes);
}

uint64_t Shadow::first_unwritten(uint64_t offset, uint64_t bytes) const {
    const void* found = std::memchr(bytes_.data() + offset, 0, bytes);
    return found == nullptr ? bytes_.size() : static_cast<uint64_t>(static_cast<const uint8_t*>(found) - bytes_.data());
}

WindowArena::WindowArena(uint32_t num_ranks, const WindowLayout& layout, uint64_t stale_tag, Random& random,
                         uint32_t pool)
    : layout_(layout), stride_(layout.total_bytes + kGapBytes), shadows_(num_ranks) {
    static thread_local std::vector<std::unique_ptr<Pages>> pools;
    while (pools.size() <= pool)
        pools.push_back(std::make_unique<Pages>());
    base_ = pools[pool]->at_least(stride_ * num_ranks);
    const uint64_t junk = random.next();
    for (uint32_t rank = 0; rank < num_ranks; ++rank)
        fill(rank, stale_tag, junk);
}

void WindowArena::fill(uint32_t rank, uint64_t stale_tag, uint64_t junk) {
    auto* words = reinterpret_cast<uint64_t*>(window(rank));
    for (uint64_t i = 0; i < layout_.total_bytes / sizeof(uint64_t); ++i)
        words[i] = junk;
    for (uint64_t block = 0; block < layout_.total_bytes / kBlockBytes; ++block)
        words[(block * kBlockBytes + kBlockDataBytes) / sizeof(uint64_t)] = stale_tag;
    Shadow& shadow = shadows_[rank];
    shadow.reset(layout_.total_bytes, false);
    for (uint32_t i = 0; i < kNumWindowRegions; ++i) {
        const Region& region = layout_.regions[i];
        if (is_zeroed(static_cast<WindowRegion>(i))) {
            std::memset(window(rank) + region.offset, 0, region.bytes);
            shadow.mark(region.offset, region.bytes);
            continue;
        }
        // A flag may be looked at before anything has come: that is what flags are for.
        for (uint64_t at = kBlockDataBytes; at < region.bytes; at += kBlockBytes)
            shadow.mark(region.offset + at, kFlagBytes);
    }
}

void WindowArena::use_again(uint32_t rank, const WindowArena& old, uint32_t from) {
    for (uint32_t i = 0; i < kNumWindowRegions; ++i) {
        const Region& region = layout_.regions[i];
        if (is_zeroed(static_cast<WindowRegion>(i)) || region.offset >= old.window_bytes()) continue;
        const uint64_t bytes = std::min(region.bytes, old.window_bytes() - region.offset);
        std::memcpy(window(rank) + region.offset, old.window(from) + region.offset, bytes);
    }
}

WindowRegion WindowArena::region_of(uint64_t offset, uint64_t bytes) const {
    for (uint32_t i = 0; i < kNumWindowRegions; ++i) {
        const Region& region = layout_.regions[i];
        if (offset >= region.offset && offset - region.offset + bytes <= region.bytes) {
            return static_cast<WindowRegion>(i);
        }
    }
    return WindowRegion::kCount;
}

}  // namespace ascend_deepep::sim
