// SPDX-License-Identifier: Apache-2.0
// Refusals and failures that a host learns of after the call: told once, passed on once, and ranks that learn at
// different calls come to rest. Layer: tests. docs/protocol.md, "Late results".
#include <random>
#include <vector>

#include "framework/npu/late_refusals.h"
#include "npu_ranks.h"

namespace ascend_deepep::test {
namespace {

Refusal refusal_of(uint32_t rank, uint32_t echo = 0) {
    return Refusal{Code::kBadExpertId, Field::kExpertIds, 2, 1, 99, 8, rank, echo};
}

TEST(a_refusal_is_told_once_and_an_echo_of_it_is_not_passed_on) {
    npu::LateRefusals late(0);
    CHECK(!late.take());
    late.note(7, OperationKind::kDispatch, refusal_of(1), false);
    const auto news = late.take();
    CHECK(news && news->must_pass_on);
    CHECK_EQ(news->status.refusal.echo, make_echo(1, 7));
    CHECK(contains(news->status.message, "rank 1 refused dispatch_v2: expert_ids[2, 1] = 99"));
    CHECK(!late.take());
    // The other rank passes it on in operation 9.
    late.note(9, OperationKind::kCombine, refusal_of(2, make_echo(1, 7)), false);
    const auto echo = late.take();
    CHECK(echo && !echo->must_pass_on);
    CHECK(contains(echo->status.message, "operation 9, in which rank 2 passed on this refusal"));
    // Ranks that made different calls blame each other for the same operation: it is one refusal.
    late.note(11, OperationKind::kDispatch, refusal_of(2), false);
    CHECK(late.take()->must_pass_on);
    late.note(12, OperationKind::kDispatch, refusal_of(2, make_echo(0, 11)), false);
    CHECK(!late.take()->must_pass_on);
}

TEST(what_a_call_raised_itself_is_not_told_again) {
    npu::LateRefusals late(0);
    late.note(3, OperationKind::kDispatch, refusal_of(0), true);
    CHECK(!late.take());
    late.note(5, OperationKind::kDispatch, refusal_of(1, make_echo(0, 3)), false);
    late.note(4, OperationKind::kDispatch, refusal_of(1), false);
    const auto notice = late.take();
    CHECK(notice && notice->must_pass_on);  // operation 4 is news, 5 is an echo
    CHECK_EQ(notice->status.refusal.echo, make_echo(1, 4));
    CHECK(contains(notice->status.message, "2 operations were refused"));
}

// What one rank saw of a run in which all ranks make the same dispatches, one after the other.
struct Seen {
    std::vector<bool> is_exact, has_raised;
};

// `is_late(op)`: the events of the operations until then are not seen complete before this call.
Seen run_calls(const Rank& rank, FakeDevice& device, Communicator& communicator, uint32_t num_calls, uint32_t bad_call,
               const std::function<bool(uint32_t)>& is_late) {
    Seen seen;
    for (uint32_t call = 0; call < num_calls; ++call) {
        RoundTrip round(communicator, 16, call);
        if (call == bad_call && rank.rank() == 1) round.expert_ids[2] = 99;
        device.holds_events = is_late(call);
        const op_host::Status status = round.dispatch();
        device.run();
        rank.barrier();
        CHECK(status.record.code == Code::kOk);  // never a failure
        seen.has_raised.push_back(!status.ok());
        seen.is_exact.push_back(!round.ep_recv_counts.empty() &&
                                round.ep_recv_counts.back() == expected_rows(communicator, 16, call));
        device.holds_events = false;
    }
    return seen;
}

void check_converged(const Rank& rank, FakeDevice& device, Communicator& communicator, const Seen& seen) {
    const auto count = [](const std::vector<bool>& all, bool value) {
        return static_cast<uint32_t>(std::count(all.begin(), all.end(), value));
    };
    // The bad call and at most one call of each rank that passed it on.
    CHECK(count(seen.is_exact, false) >= 1 && count(seen.is_exact, false) <= 1 + rank.num_ranks());
    CHECK(count(seen.has_raised, true) >= 1 && count(seen.has_raised, true) <= 1 + rank.num_ranks());
    // No result was lost silently: an operation that was not exact is followed by a raise, or raised itself.
    const auto last_bad = std::find(seen.is_exact.rbegin(), seen.is_exact.rend(), false).base() - seen.is_exact.begin();
    const auto last_raise =
        std::find(seen.has_raised.rbegin(), seen.has_raised.rend(), true).base() - seen.has_raised.begin();
    CHECK(last_raise >= last_bad);
    CHECK(seen.is_exact.back() && !seen.has_raised.back());
    check_ok(communicator.synchronize());  // nothing is left to tell
    const auto round = enqueue_round(communicator, 16, 3);
    device.run();
    CHECK(round->x_out == round->x);
    check_ok(communicator.synchronize());
    rank.barrier();
}

TEST(two_ranks_that_notice_at_different_calls_converge) {
    run_npu_ranks(2, [](const Rank& rank, FakeDevice& device) {
        const auto communicator = npu_communicator(rank);
        // Rank 0 learns at once, rank 1 five calls later, when rank 0 has long passed it on.
        const Seen seen = run_calls(rank, device, *communicator, 14, 2,
                                    [&](uint32_t call) { return rank.rank() == 1 && call >= 3 && call < 8; });
        check_converged(rank, device, *communicator, seen);
        const std::vector<bool> bad_calls = {false, false, true, true, false, false, false, false, true};
        for (size_t call = 0; call < bad_calls.size(); ++call)
            CHECK_EQ(!seen.is_exact[call], static_cast<bool>(bad_calls[call]));
        CHECK_EQ(static_cast<bool>(seen.has_raised[rank.rank() == 0 ? 3 : 8]), true);
        // Rank 0's good call 8 was refused by the echo, so it raises once more, and passes nothing on.
        CHECK_EQ(static_cast<bool>(seen.has_raised[9]), rank.rank() == 0);
        CHECK(seen.is_exact[9]);
    });
}

TEST(three_ranks_converge_whatever_they_notice_when) {
    run_npu_ranks(3, [](const Rank& rank, FakeDevice& device) {
        const auto communicator = npu_communicator(rank);
        for (uint32_t seed = 0; seed < 12; ++seed) {
            std::mt19937 random(seed * 31 + rank.rank());
            const Seen seen = run_calls(rank, device, *communicator, 24, 3 + seed % 3,
                                        [&](uint32_t call) { return call < 16 && random() % 3 != 0; });
            check_converged(rank, device, *communicator, seen);
        }
    });
}

TEST(a_refusal_by_the_host_reaches_the_others_late) {
    run_npu_ranks(2, [](const Rank& rank, FakeDevice& device) {
        const auto communicator = npu_communicator(rank);
        RoundTrip bad(*communicator, 16, 0);
        if (rank.rank() == 0) bad.dispatch_call.attributes.ep_world_size = 3;
        const op_host::Status status = bad.dispatch();
        CHECK_EQ(status.ok(), rank.rank() == 1);
        device.run();
        rank.barrier();
        // synchronize() tells rank 1, so its next call is a good one; rank 0 has raised already.
        const op_host::Status told = communicator->synchronize();
        CHECK_EQ(told.ok(), rank.rank() == 0);
        if (rank.rank() == 1) CHECK(contains(told.message, "rank 0 refused dispatch_v2: ep_world_size = 3"));
        const auto round = enqueue_round(*communicator, 16, 1);
        check_ok(communicator->synchronize());
        CHECK(round->x_out == round->x);
    });
}

CommunicatorOptions hasty_options(const Rank& rank, uint32_t timeout_ms) {
    CommunicatorOptions options = npu_options(rank);
    options.timeout_ms = timeout_ms;
    return options;
}

TEST(a_failure_is_raised_by_the_next_call_which_launches_nothing) {
    run_npu_ranks(2, [](const Rank& rank, FakeDevice& device) {
        const auto communicator = Communicator::create(hasty_options(rank, 300), rank.all_gather());
        if (rank.rank() == 0) {
            RoundTrip alone(*communicator, 16, 0);
            check_ok(alone.dispatch());
            device.run();  // rank 1 never comes
            const int launches = device.counts.launches;
            for (int call = 0; call < 2; ++call) {
                RoundTrip next(*communicator, 16, 0);
                const op_host::Status status = next.dispatch();
                CHECK_EQ(status.record.code, Code::kTimeout);
                CHECK_EQ(status.record.root, 1U);
                CHECK(contains(status.message, "rank 1"));
            }
            CHECK_EQ(device.counts.launches.load(), launches);
            CHECK_EQ(communicator->synchronize().record.code, Code::kTimeout);
            CHECK_EQ(communicator->health().record.code, Code::kTimeout);
        }
        rank.barrier();
        // Rank 1 is told by rank 0's abort message as soon as it enters an operation.
        if (rank.rank() == 1) {
            RoundTrip next(*communicator, 16, 0);
            check_ok(next.dispatch());
            const op_host::Status status = communicator->synchronize();
            CHECK_EQ(status.record.code, Code::kPeerAborted);
            CHECK_EQ(communicator->health().message, status.message);
        }
        rank.barrier();
    });
}

TEST(synchronize_tells_a_failure_first) {
    run_npu_ranks(2, [](const Rank& rank, FakeDevice&) {
        const auto communicator = Communicator::create(hasty_options(rank, 200), rank.all_gather());
        if (rank.rank() == 0) {
            RoundTrip alone(*communicator, 16, 0);
            check_ok(alone.dispatch());
            CHECK_EQ(communicator->synchronize().record.code, Code::kTimeout);
        }
        rank.barrier();
    });
}

}  // namespace
}  // namespace ascend_deepep::test
