// SPDX-License-Identifier: Apache-2.0
// Calls only enqueue, and what was enqueued is exact: slots, streams, task queue. Layer: tests.
#include <vector>

#include "npu_ranks.h"

namespace ascend_deepep::test {
namespace {

void check_exact_after_synchronize(CombineEngine engine) {
    run_npu_ranks(2, [&](const Rank& rank, FakeDevice& device) {
        CommunicatorOptions options = npu_options(rank);
        options.combine_engine = engine;
        const auto communicator = Communicator::create(options, rank.all_gather());
        CHECK_EQ(communicator->target(), std::string("ascend950"));
        CHECK_EQ(communicator->options().queue_depth, 8U);
        device.counts.host_waits = 0;
        std::vector<std::unique_ptr<RoundTrip>> rounds;
        for (int64_t i = 0; i < 5; ++i)
            rounds.push_back(enqueue_round(*communicator, 16 - i, i));
        CHECK_EQ(device.counts.host_waits.load(), 0);
        CHECK_EQ(device.counts.launches.load(), 10);
        for (const auto& round : rounds) {
            CHECK(round->x_out != round->x);  // nothing has run
            CHECK_EQ(round->num_rows, 0U);
        }
        check_ok(communicator->synchronize());
        for (const auto& round : rounds)
            CHECK(round->x_out == round->x);
        CHECK_EQ(communicator->counters().operations, 10U);
    });
}

TEST(a_call_waits_for_nothing_and_is_exact_after_synchronize) {
    check_exact_after_synchronize(CombineEngine::kMte);
}

TEST(queues_of_aclshmem_carry_combine_rows_too) {
    check_exact_after_synchronize(CombineEngine::kUrma);
}

TEST(a_slot_is_used_again_only_when_its_event_has_completed) {
    run_npu_ranks(2, [](const Rank& rank, FakeDevice& device) {
        const auto communicator = npu_communicator(rank);
        // More launches in flight than a chunk of slots holds: each must find its own tiling data when it runs.
        std::vector<std::unique_ptr<RoundTrip>> rounds;
        for (int64_t i = 0; i < 40; ++i)
            rounds.push_back(enqueue_round(*communicator, 1 + i % 16, i));
        check_ok(communicator->synchronize());
        for (const auto& round : rounds)
            CHECK(round->x_out == round->x);
        // With events that complete there is nothing more to allocate.
        const int allocations = device.counts.allocations;
        for (int64_t i = 0; i < 200; ++i) {
            const auto round = enqueue_round(*communicator, 4, i);
            device.run();
            CHECK(round->x_out == round->x);
        }
        CHECK_EQ(device.counts.allocations.load(), allocations);
        // Held events: the launches have ended, but the host cannot know, so no slot may be touched.
        device.holds_events = true;
        for (int64_t i = 0; i < 60; ++i) {
            const auto round = enqueue_round(*communicator, 4, i);
            device.run();
        }
        CHECK(device.counts.allocations > allocations);
        device.holds_events = false;
        check_ok(communicator->synchronize());
    });
}

TEST(works_of_a_task_queue_run_later_and_in_order) {
    run_npu_ranks(2, [](const Rank& rank, FakeDevice& device) {
        const auto communicator = npu_communicator(rank);
        device.use_task_queue(true);
        const auto first = enqueue_round(*communicator, 16, 0);
        const auto second = enqueue_round(*communicator, 8, 3);
        CHECK_EQ(device.counts.launches.load(), 0);
        device.run_task_queue();
        CHECK_EQ(device.counts.launches.load(), 4);
        check_ok(communicator->synchronize());
        CHECK(first->x_out == first->x && second->x_out == second->x);
        // Work that is still queued when its communicator closes starts nothing.
        RoundTrip late(*communicator, 4, 0);
        check_ok(late.dispatch());
        communicator->close();
        device.run_task_queue();
        CHECK_EQ(device.counts.launches.load(), 4);
    });
}

TEST(launches_on_several_streams_wait_for_each_other_on_the_device) {
    run_npu_ranks(2, [](const Rank& rank, FakeDevice& device) {
        const auto communicator = npu_communicator(rank);
        FakeStream* one = device.current();
        FakeStream* two = device.make_stream();
        device.counts.host_waits = 0;
        RoundTrip round(*communicator, 16, 5);
        check_ok(round.dispatch());
        CHECK_EQ(device.counts.device_waits.load(), 0);
        device.use(two);
        check_ok(round.combine());
        CHECK_EQ(device.counts.device_waits.load(), 1);
        device.use(one);
        const auto next = enqueue_round(*communicator, 16, 6);
        CHECK_EQ(device.counts.device_waits.load(), 2);
        CHECK_EQ(device.counts.host_waits.load(), 0);
        device.run(two);  // runs the dispatch on the other stream first
        CHECK(round.x_out == round.x);
        check_ok(communicator->synchronize());
        CHECK(next->x_out == next->x);
    });
}

TEST(one_rank_alone_needs_no_queue) {
    run_npu_ranks(1, [](const Rank& rank, FakeDevice&) {
        const auto communicator = npu_communicator(rank);
        const auto round = enqueue_round(*communicator, 16, 1);
        check_ok(communicator->synchronize());
        CHECK(round->x_out == round->x);
        check_ok(communicator->health());
    });
}

}  // namespace
}  // namespace ascend_deepep::test
