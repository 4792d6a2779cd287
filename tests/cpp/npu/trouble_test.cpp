// SPDX-License-Identifier: Apache-2.0
// Errors at awkward moments: between a launch and its event, in a task queue that loses work, on another device, while
// a graph is recorded, and failures in queues that a later communicator uses. Layer: tests.
#include <sys/wait.h>
#include <unistd.h>

#include <new>
#include <stdexcept>
#include <thread>
#include <vector>

#include "framework/runtime/package_api.h"
#include "npu_ranks.h"

namespace ascend_deepep::test {
namespace {

TEST(a_kernel_without_an_event_keeps_its_memory) {
    run_npu_ranks(2, [](const Rank& rank, FakeDevice& device) {
        const auto communicator = npu_communicator(rank);
        if (rank.rank() == 0) {
            RoundTrip round(*communicator, 16, 0);
            device.fail_next("aclrtRecordEvent", 507018);
            check_ok(round.dispatch());
            CHECK_EQ(device.counts.launches.load(), 1);
            CHECK(contains(communicator->health().message, "aclrtRecordEvent failed with ACL error 507018"));
            const int allocations = device.counts.allocations;
            communicator->close();
            // The kernel may run yet: only the page reader's buffer goes.
            CHECK_EQ(device.counts.allocations.load(), allocations - 1);
        } else {
            communicator->close();
        }
        rank.barrier();
        const auto next = npu_communicator(rank, "next");
        CHECK_EQ(next->machine().window_offset, next->window_bytes());
        rank.barrier();
    });
}

TEST(synchronize_ends_when_the_task_queue_loses_a_call) {
    run_npu_ranks(1, [](const Rank& rank, FakeDevice& device) {
        const auto communicator = npu_communicator(rank);
        device.use_task_queue(true);
        RoundTrip lost(*communicator, 16, 0);
        check_ok(lost.dispatch());
        device.drop_task_queue();
        CHECK(contains(communicator->synchronize().message, "the stream's task queue dropped dispatch_v2"));
    });
}

TEST(a_task_queue_that_throws_breaks_the_communicator) {
    run_npu_ranks(1, [](const Rank& rank, FakeDevice& device) {
        const auto communicator = npu_communicator(rank);
        RoundTrip round(*communicator, 16, 0);
        device.refuse_next_enqueue();
        bool has_thrown = false;
        try {
            round.dispatch();
        } catch (const std::runtime_error&) {
            has_thrown = true;  // torch's own words reach the caller
        }
        CHECK(has_thrown);
        CHECK(contains(communicator->synchronize().message, "dropped dispatch_v2"));
    });
}

TEST(no_exception_leaves_the_work_of_a_task_queue) {
    run_npu_ranks(1, [](const Rank& rank, FakeDevice& device) {
        const auto communicator = npu_communicator(rank);
        device.use_task_queue(true);
        RoundTrip round(*communicator, 16, 0);
        check_ok(round.dispatch());
        device.throw_in_next_launch();
        device.run_task_queue();
        CHECK(contains(communicator->synchronize().message, "std::bad_alloc"));
    });
}

TEST(synchronize_remembers_streams_that_come_into_use_while_it_waits) {
    run_npu_ranks(1, [](const Rank& rank, FakeDevice& device) {
        const auto communicator = npu_communicator(rank);
        FakeStream* first = device.current();
        FakeStream* second = device.make_stream();
        std::unique_ptr<RoundTrip> late;
        const auto early = enqueue_round(*communicator, 16, 1);
        device.enqueue(first, {nullptr, 0, [&] {
                                   device.use(second);
                                   late = enqueue_round(*communicator, 16, 2);
                                   device.use(first);
                               }});
        check_ok(communicator->synchronize());
        CHECK(early->x_out == early->x);
        CHECK(late != nullptr);
        check_ok(communicator->synchronize());
        CHECK(late->x_out == late->x);
    });
}

TEST(communicators_of_a_process_are_on_one_device) {
    run_npu_ranks(2, [](const Rank& rank, FakeDevice& device) {
        const auto first = npu_communicator(rank, "first");
        if (rank.rank() == 1) device.select(5);
        const op_host::Status status = creation_error(npu_options(rank, "second"), rank.all_gather());
        CHECK(contains(status.message, "the current device is 5 and the endpoint of this process is on device 3"));
        CHECK_EQ(status.refusal.rank, 1U);
        device.select(3);
        const auto round = enqueue_round(*first, 16, 1);
        check_ok(first->synchronize());
        CHECK(round->x_out == round->x);
    });
}

TEST(closing_one_communicator_does_not_spoil_the_recording_of_another) {
    run_npu_ranks(1, [](const Rank& rank, FakeDevice& device) {
        auto old = npu_communicator(rank, "old");
        const auto recorded = npu_communicator(rank, "recorded");
        const auto round = enqueue_round(*old, 16, 1);
        device.run();
        device.begin_recording(device.current());
        old->close();
        old.reset();
        CHECK_EQ(device.counts.recording_faults.load(), 0);
        device.end_recording(device.current());
        CHECK(round->x_out == round->x);
    });
}

TEST(asking_for_the_operator_package_takes_no_news_away) {
    run_npu_ranks(2, [](const Rank& rank, FakeDevice& device) {
        const auto communicator = npu_communicator(rank);
        RoundTrip bad(*communicator, 16, 0);
        if (rank.rank() == 0) bad.dispatch_call.attributes.ep_world_size = 3;
        CHECK_EQ(bad.dispatch().ok(), rank.rank() == 1);
        device.run();
        rank.barrier();
        if (rank.rank() == 1) {
            CommunicatorLimits limits;
            op_host::Machine machine;
            CombineEngine engine = CombineEngine::kMte;
            CHECK_EQ(ascend_deepep_package_machine("test", op_host::kNpuTarget, &limits, &machine, &engine),
                     op_host::kMachineFound);
            CHECK(contains(communicator->synchronize().message, "rank 0 refused dispatch_v2"));
        }
        rank.barrier();
    });
}

TEST(a_forked_process_is_told_that_it_cannot_use_the_device) {
    run_npu_ranks(1, [](const Rank& rank, FakeDevice&) {
        const auto communicator = npu_communicator(rank);
        const pid_t child = ::fork();
        if (child == 0) {
            const AllGather alone = [](const std::string& mine) { return std::vector{mine}; };
            const op_host::Status status = creation_error(npu_options(rank, "child"), alone);
            ::_exit(contains(status.message, "a device cannot be used on both sides of a fork") ? 0 : 1);
        }
        int result = -1;
        CHECK_EQ(::waitpid(child, &result, 0), child);
        CHECK_EQ(result, 0);
        const auto round = enqueue_round(*communicator, 16, 1);
        check_ok(communicator->synchronize());
        CHECK(round->x_out == round->x);
    });
}

TEST(a_caller_on_another_device_stays_there) {
    run_npu_ranks(1, [](const Rank& rank, FakeDevice& device) {
        const auto communicator = npu_communicator(rank);
        device.select(5);
        const auto round = enqueue_round(*communicator, 16, 1);
        check_ok(communicator->synchronize());
        CHECK_EQ(device.id(), 5);
        CHECK(round->x_out == round->x);
    });
}

// Kernels that were ended anywhere leave queues that the next communicator can use.
TEST(queues_of_ended_kernels_serve_the_next_communicator) {
    run_npu_ranks(2, [](const Rank& rank, FakeDevice& device) {
        for (int attempt = 0; attempt < 24; ++attempt) {
            CommunicatorOptions options = npu_options(rank, "attempt " + std::to_string(attempt));
            options.combine_engine = CombineEngine::kUrma;
            options.timeout_ms = 5 + static_cast<uint32_t>(attempt) % 5 * 10;
            options.heap_bytes = uint64_t{40} << 20;
            auto ended = Communicator::create(options, rank.all_gather());
            if (rank.rank() == static_cast<uint32_t>(attempt) % 2) {
                RoundTrip alone(*ended, 16, attempt);
                check_ok(alone.dispatch());
                std::thread thread([&device, stream = device.current()] { device.run(stream); });
                std::this_thread::sleep_for(std::chrono::microseconds(attempt * 400));
                ended->close();
                thread.join();
            }
            ended->close();
            ended.reset();
            rank.barrier();
            options.timeout_ms = 3000;
            options.name = "after " + std::to_string(attempt);
            const auto next = Communicator::create(options, rank.all_gather());
            for (int64_t i = 0; i < 3; ++i) {
                const auto round = enqueue_round(*next, 16, i);
                check_ok(next->synchronize());
                CHECK(round->x_out == round->x);
            }
            rank.barrier();
        }
    });
}

}  // namespace
}  // namespace ascend_deepep::test
