// SPDX-License-Identifier: Apache-2.0
//
// Checks of a communicator's maxima at construction. Layer: op_host. Their texts stand here, as no peer renders them.
#include <algorithm>
#include <cstdint>

#include "contract/arch35/wqe.h"
#include "op_host/check.h"
#include "op_host/check_rows.h"
#include "op_host/messages.h"
#include "op_host/sizes.h"
#include "op_host/text.h"

namespace ascend_deepep::op_host {
namespace {

struct LimitRow {
    const char* name;
    Field field;  // the operators' argument that the maximum bounds
    uint32_t CommunicatorLimits::* value;
    uint32_t lowest;
    uint32_t highest;
};

constexpr LimitRow kLimits[] = {
    {"num_ranks", Field::kEpWorldSize, &CommunicatorLimits::num_ranks, 1, kMaxRanks},
    {"max_tokens", Field::kNumTokens, &CommunicatorLimits::max_tokens, 1, kMaxTokens},
    {"hidden", Field::kHidden, &CommunicatorLimits::hidden, kMinHidden, kMaxHidden},
    {"num_topk", Field::kNumTopk, &CommunicatorLimits::num_topk, 1, kMaxTopk},
    {"num_experts", Field::kMoeExpertNum, &CommunicatorLimits::num_experts, 1, kMaxExperts},
    {"shared_expert_num", Field::kSharedExpertNum, &CommunicatorLimits::shared_expert_num, 0, kMaxSharedExperts},
    {"per_expert_copies", Field::kCopyMode, &CommunicatorLimits::per_expert_copies, 0, 1},
    {"combine_reduce", Field::kCombineReduce, &CommunicatorLimits::combine_reduce, 0, 1},
};

// The value as callers pass it.
std::string value_text(const LimitRow& row, uint32_t value) {
    if (row.field != Field::kCombineReduce) return text(value);
    return text('"', combine_reduce_name(static_cast<CombineReduce>(value)), '"');
}

Status refused(Field field, Code code, int64_t got, int64_t limit, const std::string& message) {
    Status status;
    status.refusal = make_refusal(field, code, got, limit);
    status.message = message;
    return status;
}

Status check_intervals(const CommunicatorLimits& limits) {
    for (const LimitRow& row : kLimits) {
        const uint32_t value = limits.*row.value;
        if (value >= row.lowest && value <= row.highest) continue;
        return refused(row.field, Code::kOutOfRange, value, row.highest,
                       text(row.name, " = ", value, " is outside [", row.lowest, ", ", row.highest,
                            "]: make the communicator with a value in it"));
    }
    return Status{};
}

static_assert(kMaxExperts <= kMaxBlocksPerRank, "num_experts is local experts times ranks, so it bounds those too");

Status check_relations(const CommunicatorLimits& l) {
    if (l.hidden % kHiddenMultiple != 0) {
        return refused(Field::kHidden, Code::kNotMultiple, l.hidden, kHiddenMultiple,
                       text("hidden = ", l.hidden, " is not a multiple of ", kHiddenMultiple,
                            ": round it up, smaller calls fit too"));
    }
    // With shared experts the ranks that hold routed ones are fewer, and each call says how many.
    if (l.shared_expert_num == 0 && l.num_experts % l.num_ranks != 0) {
        return refused(Field::kMoeExpertNum, Code::kNotMultiple, l.num_experts, l.num_ranks,
                       text("num_experts = ", l.num_experts, " is not a multiple of num_ranks = ", l.num_ranks,
                            ": every rank holds the same number of experts (with shared_expert_num above 0 the ranks "
                            "that serve shared experts hold none)"));
    }
    if (l.num_topk > l.num_experts) {
        return refused(Field::kNumTopk, Code::kOutOfRange, l.num_topk, l.num_experts,
                       text("num_topk = ", l.num_topk, " is above num_experts = ", l.num_experts,
                            ": a token chooses each expert at most once"));
    }
    return Status{};
}

Status check_window(const CommunicatorLimits& l, uint64_t window_bytes) {
    const uint64_t required = required_window_bytes(l);
    if (window_bytes == 0 || window_bytes >= required) return Status{};
    return refused(
        Field::kNone, Code::kTooSmall, static_cast<int64_t>(std::min<uint64_t>(window_bytes, INT64_MAX)),
        static_cast<int64_t>(required),
        text("window_bytes = ", window_bytes, " is below the ", required, " bytes that num_ranks = ", l.num_ranks,
             ", max_tokens = ", l.max_tokens, ", hidden = ", l.hidden, ", num_topk = ", l.num_topk,
             ", num_experts = ", l.num_experts, " (", local_experts(l),
             " a rank), shared_expert_num = ", l.shared_expert_num, ", per_expert_copies = ", l.per_expert_copies,
             " need: pass at least ", required, ", leave it out, or lower these maxima"));
}

}  // namespace

Status check_limits(const CommunicatorLimits& limits, uint32_t num_cores, uint64_t window_bytes) {
    if (num_cores < kMinCores || num_cores > kMaxCores) {
        return refused(Field::kNone, Code::kOutOfRange, num_cores, kMaxCores,
                       text("num_cores = ", num_cores, " is outside [", kMinCores, ", ", kMaxCores,
                            "]: dispatch_v2 needs a core for each of its four sending roles"));
    }
    Status status = check_intervals(limits);
    if (status.ok()) status = check_relations(limits);
    if (status.ok()) status = check_window(limits, window_bytes);
    return status;
}

Status check_queues_per_peer(uint32_t queues_per_peer) {
    if (queues_per_peer >= 1 && queues_per_peer <= kMaxQueuesPerPeer) return Status{};
    return refused(Field::kNone, Code::kOutOfRange, queues_per_peer, kMaxQueuesPerPeer,
                   text("queues_per_peer = ", queues_per_peer, " is outside [1, ", kMaxQueuesPerPeer,
                        "]: make the communicator with a value in it"));
}

Status check_queue_depth(uint32_t queue_depth) {
    const bool is_power_of_two = (queue_depth & (queue_depth - 1)) == 0;
    if (is_power_of_two && queue_depth >= kMinQueueDepth && queue_depth <= kMaxQueueDepth) return Status{};
    return refused(Field::kNone, Code::kOutOfRange, queue_depth, kMaxQueueDepth,
                   text("queue_depth is ", queue_depth, ": a power of two from ", kMinQueueDepth, " to ",
                        kMaxQueueDepth, " is needed"));
}

Status compare_limits(const CommunicatorLimits& rank0, const CommunicatorLimits& other, uint32_t rank) {
    for (const LimitRow& row : kLimits) {
        const uint32_t got = other.*row.value;
        const uint32_t expected = rank0.*row.value;
        if (got == expected) continue;
        Status status = refused(row.field, Code::kNotEqual, got, expected,
                                text(row.name, " = ", value_text(row, got), " on rank ", rank, ", ",
                                     value_text(row, expected), " on rank 0: make the communicator with the same ",
                                     row.field == Field::kCombineReduce ? row.name : "maxima", " on all ranks"));
        status.refusal.rank = rank;
        return status;
    }
    return Status{};
}

}  // namespace ascend_deepep::op_host
