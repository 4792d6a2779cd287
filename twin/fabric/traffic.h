// SPDX-License-Identifier: Apache-2.0
// What went to other ranks, as the engine and the block writer counted it. Layer: twin/fabric.
#pragma once

#include <cstdint>

#include "contract/window_layout.h"

namespace ascend_deepep::twin {

struct Traffic {
    uint64_t copies = 0;                                                // slots of dispatch halves begun
    uint64_t rows = 0;                                                  // slots of combine halves begun
    uint64_t bytes_dispatch = 0, bytes_combine = 0, bytes_control = 0;  // blocks put, flag areas included
    uint64_t wqes_dispatch = 0, wqes_combine = 0;
    uint64_t doorbells_dispatch = 0, doorbells_combine = 0;
};

// Where control messages, token copies and rows land.
constexpr bool is_for_peers(WindowRegion region) {
    return region == WindowRegion::kControlRing || region == WindowRegion::kDispatchHalf0 ||
           region == WindowRegion::kDispatchHalf1 || region == WindowRegion::kCombineHalf0 ||
           region == WindowRegion::kCombineHalf1;
}

// Sorts writes by the region they land in.
class TrafficMeter {
  public:
    explicit TrafficMeter(const WindowLayout& layout) : layout_(layout) {}

    // A write of `bytes` at `offset` of a peer's window. The region it lies in; kCount: a region that peers do not
    // write, or two at once.
    WindowRegion count(uint64_t offset, uint64_t bytes);
    // The region that holds the bytes as a whole; kCount: none.
    WindowRegion region_of(uint64_t offset, uint64_t bytes) const;

    Traffic& totals() { return totals_; }
    const Traffic& totals() const { return totals_; }

  private:
    WindowLayout layout_;
    Traffic totals_;
};

}  // namespace ascend_deepep::twin
