// SPDX-License-Identifier: Apache-2.0
//
// Maxima of a communicator: each at its limits and one beyond, and ranks that disagree. Layer: tests.
#include "check.h"
#include "op_host/check.h"
#include "op_host/sizes.h"

using namespace ascend_deepep;
using namespace ascend_deepep::op_host;

namespace {

constexpr CommunicatorLimits kGood = {8, 128, 7168, 8, 256, 0};

struct Case {
    CommunicatorLimits limits;
    uint32_t num_cores;
    const char* message;  // beginning of it; null: accepted
};

constexpr Case kCases[] = {
    {kGood, 24, nullptr},
    {kGood, 4, nullptr},
    {kGood, 72, nullptr},
    {kGood, 3, "num_cores = 3 is outside [4, 72]: dispatch_v2 needs a core for each of its four sending roles"},
    {kGood, 0, "num_cores = 0 is outside [4, 72]: "},
    {kGood, 73, "num_cores = 73 is outside [4, 72]: "},
    {{1, 1, 64, 1, 1, 0}, 4, nullptr},
    {{1024, 8192, 8192, 16, 1024, 4}, 72, nullptr},
    {{0, 128, 7168, 8, 256, 0}, 4, "num_ranks = 0 is outside [1, 1024]: make the communicator with a value in it"},
    {{1025, 128, 7168, 8, 1025, 0}, 4, "num_ranks = 1025 is outside [1, 1024]: "},
    {{8, 0, 7168, 8, 256, 0}, 4, "max_tokens = 0 is outside [1, 8192]: "},
    {{8, 8193, 7168, 8, 256, 0}, 4, "max_tokens = 8193 is outside [1, 8192]: "},
    {{8, 128, 48, 8, 256, 0}, 4, "hidden = 48 is outside [64, 8192]: "},
    {{8, 128, 8208, 8, 256, 0}, 4, "hidden = 8208 is outside [64, 8192]: "},
    {{8, 128, 1000, 8, 256, 0}, 4, "hidden = 1000 is not a multiple of 16: round it up, smaller calls fit too"},
    {{8, 128, 7168, 0, 256, 0}, 4, "num_topk = 0 is outside [1, 16]: "},
    {{8, 128, 7168, 17, 256, 0}, 4, "num_topk = 17 is outside [1, 16]: "},
    {{8, 128, 7168, 16, 8, 0}, 4, "num_topk = 16 is above num_experts = 8: a token chooses each expert at most once"},
    {{8, 128, 7168, 8, 0, 0}, 4, "num_experts = 0 is outside [1, 1024]: "},
    {{8, 128, 7168, 8, 1032, 0}, 4, "num_experts = 1032 is outside [1, 1024]: "},
    {{6, 128, 7168, 8, 128, 0}, 4, "num_experts = 128 is not a multiple of num_ranks = 6: "},
    {{4, 128, 7168, 2, 3, 0}, 4, "num_experts = 3 is not a multiple of num_ranks = 4: "},
    {{8, 128, 7168, 8, 256, 5}, 4, "shared_expert_num = 5 is outside [0, 4]: "},
};

}  // namespace

TEST(limits_are_checked_at_their_boundaries) {
    for (const Case& row : kCases) {
        const Status status = check_limits(row.limits, row.num_cores, 0);
        CHECK_EQ(status.ok(), row.message == nullptr);
        if (row.message != nullptr) {
            CHECK_EQ(status.message.substr(0, std::strlen(row.message)), row.message);
        } else {
            CHECK_EQ(status.message, std::string());
        }
    }
}

TEST(a_peer_has_one_to_four_queues) {
    for (uint32_t queues = 1; queues <= kMaxQueuesPerPeer; ++queues)
        CHECK(check_queues_per_peer(queues).ok());
    for (const uint32_t queues : {0U, kMaxQueuesPerPeer + 1}) {
        const Status status = check_queues_per_peer(queues);
        CHECK_EQ(status.refusal.code, Code::kOutOfRange);
        CHECK_EQ(status.message, "queues_per_peer = " + std::to_string(queues) +
                                     " is outside [1, 4]: make the communicator with a value in it");
    }
}

TEST(a_small_window_is_refused_with_the_bytes_needed) {
    const uint64_t need = required_window_bytes(kGood);
    CHECK(check_limits(kGood, 24, need).ok());
    CHECK(check_limits(kGood, 24, need + 1).ok());
    for (const uint64_t given : {need - 1, need / 2, uint64_t{1}}) {
        const Status status = check_limits(kGood, 24, given);
        CHECK_EQ(status.refusal.code, Code::kTooSmall);
        CHECK_EQ(status.refusal.limit, 66588672);
        const std::string start =
            "window_bytes = " + std::to_string(given) +
            " is below the 66588672 bytes that num_ranks = 8, max_tokens = 128, hidden = 7168, "
            "num_topk = 8, num_experts = 256 (32 a rank), shared_expert_num = 0, per_expert_copies = 0 need: pass at "
            "least 66588672, leave it out, or lower these maxima";
        CHECK_EQ(status.message, start);
    }
}

TEST(limits_that_differ_name_the_rank_and_the_limit) {
    CHECK(compare_limits(kGood, kGood, 3).ok());
    CommunicatorLimits other = kGood;
    other.max_tokens = 64;
    const Status status = compare_limits(kGood, other, 3);
    CHECK_EQ(status.refusal.code, Code::kNotEqual);
    CHECK_EQ(status.refusal.rank, 3U);
    CHECK_EQ(status.message, std::string("max_tokens = 64 on rank 3, 128 on rank 0: make the communicator with the "
                                         "same maxima on all ranks"));
    other = kGood;
    other.combine_reduce = 1;
    CHECK_EQ(compare_limits(kGood, other, 2).message,
             std::string("combine_reduce = \"rank\" on rank 2, \"row\" on rank 0: make the communicator with the same "
                         "combine_reduce on all ranks"));
    for (uint32_t CommunicatorLimits::* value :
         {&CommunicatorLimits::num_ranks, &CommunicatorLimits::max_tokens, &CommunicatorLimits::hidden,
          &CommunicatorLimits::num_topk, &CommunicatorLimits::num_experts, &CommunicatorLimits::shared_expert_num}) {
        CommunicatorLimits changed = kGood;
        changed.*value += 1;
        CHECK(!compare_limits(kGood, changed, 1).ok());
    }
}

TEST(queue_depths_are_powers_of_two) {
    for (uint32_t depth = 4; depth <= 32768; depth *= 2)
        CHECK(check_queue_depth(depth).ok());
    for (const uint32_t depth : {0U, 1U, 2U, 3U, 6U, 32769U, 65536U}) {
        const Status status = check_queue_depth(depth);
        CHECK_EQ(status.refusal.code, Code::kOutOfRange);
        CHECK_EQ(status.message,
                 "queue_depth is " + std::to_string(depth) + ": a power of two from 4 to 32768 is needed");
    }
}
