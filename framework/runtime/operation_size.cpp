// SPDX-License-Identifier: Apache-2.0
//
// Sizes of calls. Layer: framework.
#include "framework/runtime/operation_size.h"

#include <algorithm>

namespace ascend_deepep {
namespace {

uint64_t row_bytes(const CommonTiling& common) {
    return uint64_t{common.num_tokens} * common.num_topk * common.hidden * kElementBytes;
}

const Region& region_of(const CommonTiling& common, WindowRegion region) {
    return common.window.regions[static_cast<uint32_t>(region)];
}

// The first `bytes` behind `offset` of a region, as far as it goes.
Region part(const Region& region, uint64_t offset, uint64_t bytes) {
    return {region.offset + offset, std::min(bytes, region.bytes - offset)};
}

}  // namespace

twin::OperationSize operation_size(const DispatchTiling& tiling) {
    const CommonTiling& common = tiling.common;
    twin::OperationSize size;
    if (common.is_refused != 0) return size;
    size.row_bytes = row_bytes(common);
    const uint64_t slot = common.window.token_slot_bytes;
    const bool is_per_expert = tiling.copy_mode == static_cast<uint32_t>(CopyMode::kPerExpert);
    const uint64_t copies = uint64_t{common.num_tokens} * (is_per_expert ? common.num_columns : 1);
    size.window_ranges.push_back(part(region_of(common, WindowRegion::kSendBuffer), 0, copies * slot));
    const uint64_t received = std::min<uint64_t>(copies, common.window.copies_per_source);
    for (const WindowRegion half : {WindowRegion::kDispatchHalf0, WindowRegion::kDispatchHalf1}) {
        for (uint32_t source = 0; source < common.num_ranks; ++source) {
            if (source == common.rank) continue;  // those are read from the send buffer
            const uint64_t first = uint64_t{source} * common.window.copies_per_source * slot;
            size.window_ranges.push_back(part(region_of(common, half), first, received * slot));
        }
    }
    return size;
}

twin::OperationSize operation_size(const CombineTiling& tiling) {
    const CommonTiling& common = tiling.common;
    twin::OperationSize size;
    if (common.is_refused != 0) return size;
    size.row_bytes = row_bytes(common);
    const uint64_t bytes = uint64_t{common.num_tokens} * common.num_columns * common.window.row_slot_bytes;
    for (const WindowRegion half : {WindowRegion::kCombineHalf0, WindowRegion::kCombineHalf1})
        size.window_ranges.push_back(part(region_of(common, half), 0, bytes));
    return size;
}

}  // namespace ascend_deepep
