// SPDX-License-Identifier: Apache-2.0
//
// The memory rule. Layer: framework.
#include "framework/runtime/memory_need.h"

#include <algorithm>

#include "contract/arch35/cqe.h"
#include "contract/arch35/wqe.h"

namespace ascend_deepep {

uint64_t touched_bytes_per_rank(const CommunicatorLimits& limits, CombineEngine engine, uint32_t entries_per_peer) {
    const WindowLayout layout = window_layout(limits);
    const auto bytes = [&](WindowRegion region) { return layout.regions[static_cast<uint32_t>(region)].bytes; };
    const uint64_t copies_per_token =
        limits.per_expert_copies != 0 ? num_columns(limits) : std::min(num_columns(limits), limits.num_ranks - 1);
    const uint64_t halves = kNumHalves * (uint64_t{limits.max_tokens} * copies_per_token * layout.token_slot_bytes +
                                          bytes(WindowRegion::kCombineHalf0));
    const uint64_t fixed = bytes(WindowRegion::kControlPage) + bytes(WindowRegion::kControlRing) +
                           bytes(WindowRegion::kAbort) + bytes(WindowRegion::kSendBuffer);
    const uint64_t staging = engine == CombineEngine::kUrma ? bytes(WindowRegion::kCombineStaging) : 0;
    const uint64_t rings = uint64_t{limits.num_ranks} * entries_per_peer * (kWqeBytes + kCqeBytes);
    return fixed + halves + staging + rings + workspace_layout(limits).total_bytes;
}

}  // namespace ascend_deepep
