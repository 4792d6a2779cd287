// SPDX-License-Identifier: Apache-2.0
// Recorded calls: nothing runs at first, and every replay is exact. Layer: tests.
#include <vector>

#include "npu_ranks.h"

namespace ascend_deepep::test {
namespace {

struct Recorded {
    std::unique_ptr<RoundTrip> round;
    std::unique_ptr<FakeGraph> graph;
};

Recorded record(FakeDevice& device, Communicator& communicator, int64_t tokens, int64_t shift) {
    device.begin_recording(device.current());
    Recorded made;
    made.round = enqueue_round(communicator, tokens, shift);
    made.graph = device.end_recording(device.current());
    return made;
}

void replay_exactly(FakeDevice& device, const Recorded& recorded, uint16_t salt) {
    RoundTrip& round = *recorded.round;
    for (uint16_t& value : round.x)
        value = static_cast<uint16_t>(value ^ salt);  // new contents in the recorded tensors
    round.x_out.assign(round.x_out.size(), 0xFFFF);
    device.replay(*recorded.graph, device.current());
    device.run();
    CHECK(round.x_out == round.x);
}

TEST(a_recording_replays_exactly_between_other_calls) {
    run_npu_ranks(2, [](const Rank& rank, FakeDevice& device) {
        const auto communicator = npu_communicator(rank);
        const auto before = enqueue_round(*communicator, 16, 2);
        device.counts.host_waits = 0;
        const Recorded recorded = record(device, *communicator, 12, 4);
        CHECK_EQ(device.counts.host_waits.load(), 0);
        CHECK_EQ(device.counts.recording_faults.load(), 0);
        device.run();
        CHECK(before->x_out == before->x);
        CHECK(recorded.round->x_out != recorded.round->x);  // recorded, not run
        for (uint16_t replay = 1; replay <= 3; ++replay) {
            replay_exactly(device, recorded, replay);
            // Many calls between replays: none of them may take the recording's slot.
            for (int64_t i = 0; i < 40; ++i) {
                const auto round = enqueue_round(*communicator, 1 + i % 16, i);
                device.run();
                CHECK(round->x_out == round->x);
            }
        }
        check_ok(communicator->synchronize());
    });
}

TEST(a_recording_that_needs_more_slots_is_not_spoiled) {
    run_npu_ranks(2, [](const Rank& rank, FakeDevice& device) {
        const auto communicator = npu_communicator(rank);
        std::vector<Recorded> graphs;
        for (int64_t i = 0; i < 20; ++i)
            graphs.push_back(record(device, *communicator, 8, i));
        CHECK_EQ(device.counts.recording_faults.load(), 0);
        for (const Recorded& recorded : graphs)
            replay_exactly(device, recorded, 0x0101);
        check_ok(communicator->health());
    });
}

TEST(streams_forked_in_a_recording_are_ordered_inside_it) {
    run_npu_ranks(2, [](const Rank& rank, FakeDevice& device) {
        const auto communicator = npu_communicator(rank);
        FakeStream* one = device.current();
        FakeStream* two = device.make_stream();
        const auto before = enqueue_round(*communicator, 16, 2);  // not recorded, so not waited for in the recording
        device.use(two);
        device.counts.device_waits = 0;
        device.begin_recording(two);
        RoundTrip round(*communicator, 16, 3);
        check_ok(round.dispatch());
        CHECK_EQ(device.counts.device_waits.load(), 0);
        one->recording = two->recording;
        device.use(one);
        check_ok(round.combine());
        CHECK_EQ(device.counts.device_waits.load(), 1);
        one->recording = nullptr;
        const auto graph = device.end_recording(two);
        device.run(one);
        device.replay(*graph, one);
        device.run(one);
        CHECK(before->x_out == before->x);
        CHECK(round.x_out == round.x);
    });
}

TEST(a_refusal_of_a_replay_is_told_by_the_next_call) {
    run_npu_ranks(2, [](const Rank& rank, FakeDevice& device) {
        const auto communicator = npu_communicator(rank);
        const Recorded recorded = record(device, *communicator, 12, 4);
        replay_exactly(device, recorded, 7);
        const int32_t good = recorded.round->expert_ids[3];
        if (rank.rank() == 1) recorded.round->expert_ids[3] = 99;
        device.replay(*recorded.graph, device.current());
        device.run();
        recorded.round->expert_ids[3] = good;
        RoundTrip next(*communicator, 4, 0);
        const op_host::Status status = next.dispatch();
        CHECK(contains(status.message, "expert_ids[3, 0] = 99 is outside [-1, 7]"));
        CHECK(status.refusal.rank == 1);
        device.run();
        check_ok(communicator->synchronize());
        replay_exactly(device, recorded, 9);
        check_ok(communicator->synchronize());
    });
}

TEST(a_replay_after_close_ends_at_once_and_moves_nothing) {
    run_npu_ranks(2, [](const Rank& rank, FakeDevice& device) {
        auto communicator = npu_communicator(rank);
        const Recorded recorded = record(device, *communicator, 12, 4);
        replay_exactly(device, recorded, 7);
        communicator->close();
        rank.barrier();
        recorded.round->x_out.assign(recorded.round->x_out.size(), 0xFFFF);
        const double seconds = seconds_of([&] {
            device.replay(*recorded.graph, device.current());
            device.run();
        });
        CHECK(seconds < 1.0);
        CHECK(recorded.round->x_out == std::vector<uint16_t>(recorded.round->x_out.size(), 0xFFFF));
        // Its window stays taken, so the next communicator gets another one.
        const auto other = npu_communicator(rank, "other");
        const auto round = enqueue_round(*other, 16, 1);
        check_ok(other->synchronize());
        CHECK(round->x_out == round->x);
    });
}

TEST(synchronize_is_refused_while_recording) {
    run_npu_ranks(1, [](const Rank& rank, FakeDevice& device) {
        const auto communicator = npu_communicator(rank);
        device.begin_recording(device.current());
        CHECK(contains(communicator->synchronize().message, "a recording cannot wait"));
        check_ok(communicator->health());
        CHECK_EQ(device.counts.recording_faults.load(), 0);
        const auto graph = device.end_recording(device.current());
        CHECK(graph->tasks.empty());
    });
}

}  // namespace
}  // namespace ascend_deepep::test
