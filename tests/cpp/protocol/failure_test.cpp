// SPDX-License-Identifier: Apache-2.0
// Waits end and say who is missing; a tag may wrap. Layer: tests. docs/protocol.md, "Errors", I1, I8.
#include <chrono>

#include "rounds.h"

namespace ascend_deepep::test {
namespace {

constexpr Case kCase{4, 5, 2, 8, 128, 8};

double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void expect_root(RankMachine& rank, const OperationOutcome& outcome, const ErrorRecord& record) {
    CHECK(outcome.code == Code::kTimeout || outcome.code == Code::kPeerAborted);
    CHECK_EQ(record.root, 2U);
    CHECK_EQ(record.rank, rank.rank());
    CHECK(record.num_missing > 0);
    CHECK_EQ(record.missing[0] & (1U << 2), 1U << 2);
}

TEST(a_rank_that_never_dispatches_is_named) {
    for (const char* policy : {"fast", "sim"}) {
        WorldOptions options = world_of(kCase, policy);
        options.timeout_ms = 1000;
        run_world(options, [&](RankMachine& rank) {
            check_round(rank, kCase, 0);
            if (rank.rank() == 2) return;
            const auto start = std::chrono::steady_clock::now();
            const DispatchResult result = rank.dispatch(make_batch(kCase, rank.rank(), 1));
            CHECK(seconds_since(start) < 5.0);
            expect_root(rank, result.outcome, result.record);
            CHECK(all_are(result.ep_recv_counts, int32_t{0}));
            CHECK_EQ(rank.fabric().control_page().state.is_broken, uint64_t{1});
        });
    }
}

TEST(a_rank_that_never_combines_is_named) {
    for (CombineEngine engine : {CombineEngine::kMte, CombineEngine::kUrma}) {
        WorldOptions options = world_of(kCase, "fast");
        options.engine = engine;
        options.timeout_ms = 1000;
        run_world(options, [&](RankMachine& rank) {
            const Batch batch = make_batch(kCase, rank.rank(), 1);
            const DispatchResult dispatched = rank.dispatch(batch);
            if (rank.rank() == 2) return;
            const CombineResult result = rank.combine(batch, dispatched, dispatched.expand_x);
            expect_root(rank, result.outcome, result.record);
        });
    }
}

TEST(the_low_word_of_the_tag_wraps) {
    for (uint64_t low : {0xFFFFFFFFULL, 0xFFFFFFFEULL, 0xFFFFFFFDULL, 0xFFFFFFFCULL}) {
        for (const char* policy : {"fast", "sim"}) {
            WorldOptions options = world_of(kCase, policy);
            options.tag_base = (uint64_t{5} << 32) | low;
            run_world(options, [&](RankMachine& rank) {
                for (uint32_t round = 0; round < 4; ++round)
                    check_round(rank, kCase, round);
            });
        }
    }
}

// As after messages that said nothing yet: the builder must wait for this operation's, and go on with them.
TEST(rule_h_waits_for_the_messages_of_its_own_operation) {
    for (CombineEngine engine : {CombineEngine::kMte, CombineEngine::kUrma}) {
        WorldOptions options = world_of(kCase, "sim");
        options.engine = engine;
        run_world(options, [&](RankMachine& rank) {
            for (uint32_t round = 0; round < 6; ++round) {
                for (uint64_t& consumed : rank.fabric().control_page().state.min_consumed)
                    consumed = 0;
                check_round(rank, kCase, round);
            }
        });
    }
}

// The host never supplies a sequence number: a recorded argument block runs again as it is.
TEST(a_recorded_argument_block_runs_again) {
    for (const char* policy : {"fast", "sim"}) {
        run_world(world_of(kCase, policy), [&](RankMachine& rank) {
            const Batch batch = make_batch(kCase, rank.rank(), 1);
            DispatchResult dispatched = rank.dispatch(batch);
            const DispatchResult first = dispatched;
            std::fill(dispatched.expand_x.begin(), dispatched.expand_x.end(), uint16_t{0x7F7F});
            std::fill(dispatched.ep_recv_counts.begin(), dispatched.ep_recv_counts.end(), -7);
            CHECK_EQ(rank.replay().code, Code::kOk);
            CHECK(dispatched.expand_x == first.expand_x);
            CHECK(dispatched.ep_recv_counts == first.ep_recv_counts);
            CombineResult combined = rank.combine(batch, dispatched, dispatched.expand_x);
            const std::vector<uint16_t> sums = combined.x;
            std::fill(combined.x.begin(), combined.x.end(), uint16_t{0x7F7F});
            CHECK_EQ(rank.replay().code, Code::kOk);
            CHECK(combined.x == sums);
        });
    }
}

TEST(dispatches_alone_and_combines_alone) {
    for (const char* policy : {"fast", "sim"}) {
        run_world(world_of(kCase, policy), [&](RankMachine& rank) {
            const Batch batch = make_batch(kCase, rank.rank(), 1);
            DispatchResult last = rank.dispatch(batch);
            for (int i = 0; i < 6; ++i)
                last = rank.dispatch(batch);
            for (int i = 0; i < 6; ++i) {
                CHECK_EQ(rank.combine(batch, last, last.expand_x).outcome.code, Code::kOk);
            }
            check_round(rank, kCase, 2);
        });
    }
}

}  // namespace
}  // namespace ascend_deepep::test
