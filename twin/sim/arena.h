// SPDX-License-Identifier: Apache-2.0
// Memory of a world with one shadow byte for every byte: has anybody written it? Layer: twin/sim.
// Windows of all ranks lie in one stretch, as in WindowTable; what real windows are zeroed for is zero, the rest holds
// what a bad reader would like to take for data: old tags and bytes.
#pragma once

#include <cstdint>
#include <vector>

#include "contract/window_layout.h"
#include "twin/runtime/window_map.h"
#include "twin/sim/random.h"

namespace ascend_deepep::sim {

// Shadow of one stretch of memory.
class Shadow {
  public:
    void reset(uint64_t bytes, bool is_written) { bytes_.assign(bytes, is_written ? 1 : 0); }
    void mark(uint64_t offset, uint64_t bytes);
    // Offset of the first byte of the range that nobody has written; `bytes` of the stretch when there is none.
    uint64_t first_unwritten(uint64_t offset, uint64_t bytes) const;
    uint64_t size() const { return bytes_.size(); }

  private:
    std::vector<uint8_t> bytes_;
};

class WindowArena {
  public:
    // `stale_tag`: what flag areas hold before anything was received. `pool`: whose pages; arenas that live at the same
    // time have different ones.
    WindowArena(uint32_t num_ranks, const WindowLayout& layout, uint64_t stale_tag, Random& random, uint32_t pool = 0);
    WindowArena(const WindowArena&) = delete;
    WindowArena& operator=(const WindowArena&) = delete;

    // Memory used again: what `rank` has not got zeroed holds what window `from` of `old` held. Nobody has written it.
    void use_again(uint32_t rank, const WindowArena& old, uint32_t from);

    uint8_t* window(uint32_t rank) const { return base_ + rank * stride_; }
    ControlPage& page(uint32_t rank) const { return *reinterpret_cast<ControlPage*>(window(rank)); }
    uint32_t num_ranks() const { return static_cast<uint32_t>(shadows_.size()); }
    uint64_t window_bytes() const { return layout_.total_bytes; }
    const WindowLayout& layout() const { return layout_; }
    Shadow& shadow(uint32_t rank) { return shadows_[rank]; }

    twin::WindowMap map_of(uint32_t rank) const {
        return {base_, stride_ * shadows_.size(), window(rank), window_bytes()};
    }
    bool contains(const void* p) const { return distance(p) < stride_ * shadows_.size(); }
    uint32_t rank_of(const void* p) const { return static_cast<uint32_t>(distance(p) / stride_); }
    uint64_t offset_of(const void* p) const { return distance(p) % stride_; }
    // The region that holds the whole range; kCount: none.
    WindowRegion region_of(uint64_t offset, uint64_t bytes) const;

  private:
    uint64_t distance(const void* p) const { return reinterpret_cast<uint64_t>(p) - reinterpret_cast<uint64_t>(base_); }
    void fill(uint32_t rank, uint64_t stale_tag, uint64_t junk);

    WindowLayout layout_;
    uint64_t stride_;
    uint8_t* base_;
    std::vector<Shadow> shadows_;
};

}  // namespace ascend_deepep::sim
