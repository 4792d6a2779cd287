// SPDX-License-Identifier: Apache-2.0
// Counting by region. Layer: twin/fabric.
#include "twin/fabric/traffic.h"

namespace ascend_deepep::twin {
namespace {

// Slots whose first byte lies in [at, at + bytes).
uint64_t slots_begun(uint64_t at, uint64_t bytes, uint64_t slot_bytes) {
    return ceil_div(at + bytes, slot_bytes) - ceil_div(at, slot_bytes);
}

}  // namespace

WindowRegion TrafficMeter::region_of(uint64_t offset, uint64_t bytes) const {
    for (uint32_t i = 0; i < kNumWindowRegions; ++i) {
        const Region& region = layout_.regions[i];
        if (offset >= region.offset && offset - region.offset + bytes <= region.bytes) {
            return static_cast<WindowRegion>(i);
        }
    }
    return WindowRegion::kCount;
}

WindowRegion TrafficMeter::count(uint64_t offset, uint64_t bytes) {
    const WindowRegion region = region_of(offset, bytes);
    switch (region) {
        case WindowRegion::kDispatchHalf0:
        case WindowRegion::kDispatchHalf1:
            totals_.bytes_dispatch += bytes;
            totals_.copies += slots_begun(offset - layout_.regions[static_cast<uint32_t>(region)].offset, bytes,
                                          layout_.token_slot_bytes);
            break;
        case WindowRegion::kCombineHalf0:
        case WindowRegion::kCombineHalf1:
            totals_.bytes_combine += bytes;
            totals_.rows += slots_begun(offset - layout_.regions[static_cast<uint32_t>(region)].offset, bytes,
                                        layout_.row_slot_bytes);
            break;
        case WindowRegion::kControlRing:
        case WindowRegion::kAbort:
            totals_.bytes_control += bytes;
            break;
        case WindowRegion::kControlPage:
        case WindowRegion::kSendBuffer:
        case WindowRegion::kCombineStaging:
        case WindowRegion::kCount:
            return WindowRegion::kCount;
    }
    return region;
}

}  // namespace ascend_deepep::twin
