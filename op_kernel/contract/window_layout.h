// SPDX-License-Identifier: Apache-2.0
//
// The window (peer-visible) and the workspace (local) as tables of regions. Layer: contract.
// Both depend on the communicator's limits only, which are equal on all ranks; never on a call or a batch.
#ifndef ASCEND_DEEPEP_CONTRACT_WINDOW_LAYOUT_H
#define ASCEND_DEEPEP_CONTRACT_WINDOW_LAYOUT_H

#include "contract/control_page.h"
#include "contract/token_layout.h"

namespace ascend_deepep {

// The maxima of a communicator, and what else shapes its calls alike on all ranks.
struct CommunicatorLimits {
    uint32_t num_ranks;
    uint32_t max_tokens;
    uint32_t hidden;
    uint32_t num_topk;
    uint32_t num_experts;
    uint32_t shared_expert_num;
    uint32_t per_expert_copies = 0;  // 1: room for a copy per (token, expert), not only per (token, rank)
    uint32_t combine_reduce = 0;     // CombineReduce
};

// The most experts of a rank. With shared experts the calls say how many ranks hold routed ones.
constexpr uint32_t local_experts(const CommunicatorLimits& limits) {
    if (limits.shared_expert_num == 0) return limits.num_experts / limits.num_ranks;
    const uint32_t most = kMaxBlocksPerRank / limits.num_ranks;
    return limits.num_experts < most ? limits.num_experts : most;
}
constexpr uint32_t num_columns(const CommunicatorLimits& limits) {
    return limits.num_topk + limits.shared_expert_num;
}
// Slots of the send buffer: copies that differ take one each.
constexpr uint32_t send_slots(const CommunicatorLimits& limits) {
    return limits.per_expert_copies != 0 ? limits.max_tokens * num_columns(limits) : limits.max_tokens;
}
// The most copies a rank gets from one source.
constexpr uint32_t copies_per_source(const CommunicatorLimits& limits) {
    if (limits.per_expert_copies == 0) return limits.max_tokens;
    const uint32_t experts = local_experts(limits);
    return limits.max_tokens * (experts < limits.num_topk ? experts : limits.num_topk);
}

struct Region {
    uint64_t offset;
    uint64_t bytes;
};

// Regions of a window. Order is address order.
enum class WindowRegion : uint32_t {
    kControlPage = 0,  // ControlPage
    kControlRing,      // [source][slot] control messages
    kAbort,            // [source] one abort block
    kSendBuffer,       // [send slot] staged copies, the source of URMA writes
    kDispatchHalf0,    // [source][n] token copies received
    kDispatchHalf1,
    kCombineHalf0,  // [token][column] rows received
    kCombineHalf1,
    kCombineStaging,  // [peer][kCombineStagingRows] rows on their way out (URMA combine), shared out to its queues
    kCount
};
constexpr uint32_t kNumWindowRegions = static_cast<uint32_t>(WindowRegion::kCount);
constexpr uint32_t kCombineStagingRows = 4;
static_assert(kCombineStagingRows >= kMaxQueuesPerPeer, "a queue has a staging row of its own");
constexpr uint32_t kNumHalves = 2;

struct WindowLayout {
    Region regions[kNumWindowRegions];
    uint64_t total_bytes;
    uint32_t control_blocks;     // blocks of one control message
    uint32_t token_slot_bytes;   // stride of a token copy
    uint32_t row_slot_bytes;     // stride of a combine row
    uint32_t copies_per_source;  // slots of one source in a dispatch half
};

constexpr TokenLayout widest_token_layout(const CommunicatorLimits& limits) {
    return widest_token_layout(limits.hidden, limits.num_topk, limits.shared_expert_num);
}

constexpr uint64_t window_region_bytes(const CommunicatorLimits& limits, WindowRegion region) {
    const uint64_t ranks = limits.num_ranks;
    const uint64_t token_slot = widest_token_layout(limits).slot_bytes;
    const uint64_t row_slot = row_slot_bytes(limits.hidden);
    switch (region) {
        case WindowRegion::kControlPage:
            return kControlPageBytes;
        case WindowRegion::kControlRing:
            return ranks * kControlSlots * control_blocks(local_experts(limits)) * kBlockBytes;
        case WindowRegion::kAbort:
            return ranks * kBlockBytes;
        case WindowRegion::kSendBuffer:
            return send_slots(limits) * token_slot;
        case WindowRegion::kDispatchHalf0:
        case WindowRegion::kDispatchHalf1:
            return ranks * copies_per_source(limits) * token_slot;
        case WindowRegion::kCombineHalf0:
        case WindowRegion::kCombineHalf1:
            return uint64_t(limits.max_tokens) * num_columns(limits) * row_slot;
        case WindowRegion::kCombineStaging:
            return ranks * kCombineStagingRows * row_slot;
        case WindowRegion::kCount:
            break;
    }
    return 0;
}

constexpr WindowLayout window_layout(const CommunicatorLimits& limits) {
    WindowLayout layout{};
    uint64_t offset = 0;
    for (uint32_t i = 0; i < kNumWindowRegions; ++i) {
        const uint64_t bytes = window_region_bytes(limits, static_cast<WindowRegion>(i));
        layout.regions[i] = Region{offset, bytes};
        offset = align_up(offset + bytes, kPageBytes);
    }
    layout.total_bytes = offset;
    layout.control_blocks = control_blocks(local_experts(limits));
    layout.token_slot_bytes = widest_token_layout(limits).slot_bytes;
    layout.row_slot_bytes = row_slot_bytes(limits.hidden);
    layout.copies_per_source = copies_per_source(limits);
    return layout;
}

// Regions of the workspace: data that local flags publish, nothing else.
enum class WorkspaceRegion : uint32_t {
    kHeaders = 0,   // [token] header_bytes: the routing table, in wire format
    kDestinations,  // [rank][copies_per_source] u32: send slots of the copies that go to the rank, ascending
    kNumCopies,     // [rank] u32
    kExpertRows,    // [rank][its experts] u32: (token, column) pairs per expert; one word for a rank of a shared one
    kLiveIds,       // [token][num_topk + 1] i32, ids after the mask; the last word: the token is active
    kRefusals,      // [1 + core] Refusal at a 64 B stride: own of the routing or validating core, then peers' as seen
    kRecvRows,      // [source][local expert] u32, from control messages
    kRecvInfo,      // [source] {u32 copies, u32 tokens}
    kBlockBase,     // [local expert][source] u32, exclusive prefix of rows
    kPartials,      // combine by rank: [rank] u32, partials that this rank returns
    kOwnRows,       // combine: [token][column] u32, the row of expand_x of a pair whose expert is on its own rank
    kCount
};
constexpr uint32_t kNumWorkspaceRegions = static_cast<uint32_t>(WorkspaceRegion::kCount);
constexpr uint64_t kWorkspaceAlign = 512;
constexpr uint64_t kRefusalStride = 64;

struct WorkspaceLayout {
    Region regions[kNumWorkspaceRegions];
    uint64_t total_bytes;
    uint32_t header_bytes;
    uint32_t reserved;
};

constexpr uint64_t workspace_region_bytes(const CommunicatorLimits& limits, WorkspaceRegion region) {
    const uint64_t ranks = limits.num_ranks;
    const uint64_t word = sizeof(uint32_t);
    switch (region) {
        case WorkspaceRegion::kHeaders:
            return uint64_t(limits.max_tokens) * widest_token_layout(limits).header_bytes;
        case WorkspaceRegion::kDestinations:
            return ranks * copies_per_source(limits) * word;
        case WorkspaceRegion::kLiveIds:
            return uint64_t(limits.max_tokens) * (limits.num_topk + 1) * word;
        case WorkspaceRegion::kNumCopies:
        case WorkspaceRegion::kPartials:
            return ranks * word;
        case WorkspaceRegion::kExpertRows:
            return (limits.num_experts + ranks) * word;
        case WorkspaceRegion::kRefusals:
            return (1 + kMaxCores) * kRefusalStride;
        case WorkspaceRegion::kRecvRows:
        case WorkspaceRegion::kBlockBase:
            return ranks * local_experts(limits) * word;
        case WorkspaceRegion::kRecvInfo:
            return ranks * 2 * word;
        case WorkspaceRegion::kOwnRows:
            return uint64_t(limits.max_tokens) * num_columns(limits) * word;
        case WorkspaceRegion::kCount:
            break;
    }
    return 0;
}

constexpr WorkspaceLayout workspace_layout(const CommunicatorLimits& limits) {
    WorkspaceLayout layout{};
    uint64_t offset = 0;
    for (uint32_t i = 0; i < kNumWorkspaceRegions; ++i) {
        const uint64_t bytes = workspace_region_bytes(limits, static_cast<WorkspaceRegion>(i));
        layout.regions[i] = Region{offset, bytes};
        // One unit of slack behind each region: copies of whole 32 B units may read past a region's last word.
        offset = align_up(offset + bytes + kUnitBytes, kWorkspaceAlign);
    }
    layout.total_bytes = offset;
    layout.header_bytes = widest_token_layout(limits).header_bytes;
    return layout;
}

}  // namespace ascend_deepep

#endif  // ASCEND_DEEPEP_CONTRACT_WINDOW_LAYOUT_H
