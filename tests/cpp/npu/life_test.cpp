// SPDX-License-Identifier: Apache-2.0
// Life of a communicator of devices: looking at a stuck kernel, closing under it, several on one endpoint, errors of
// the runtime. Layer: tests.
#include <thread>
#include <vector>

#include "npu_ranks.h"
#include "op_host/sizes.h"

namespace ascend_deepep::test {
namespace {

// Rank 0 in a dispatch that no other rank enters, run by a thread of its own.
class StuckDispatch {
  public:
    StuckDispatch(Communicator& communicator, FakeDevice& device) : round_(communicator, 16, 0) {
        check_ok(round_.dispatch());
        thread_ = std::thread([&device, stream = device.current()] { device.run(stream); });
    }
    ~StuckDispatch() {
        if (thread_.joinable()) thread_.join();
    }
    void join() { thread_.join(); }

  private:
    RoundTrip round_;
    std::thread thread_;
};

void wait_for_stage(const Communicator& communicator, const std::string& stage) {
    for (int i = 0; i < 5000; ++i) {
        const std::vector<std::string> stages = communicator.progress();
        if (std::find(stages.begin(), stages.end(), stage) != stages.end()) return;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    check::fail("stage", 0, "no core came to " + stage);
}

TEST(a_stuck_kernel_can_be_looked_at) {
    run_npu_ranks(2, [](const Rank& rank, FakeDevice& device) {
        CommunicatorOptions options = npu_options(rank);
        options.timeout_ms = 3000;
        const auto communicator = Communicator::create(options, rank.all_gather());
        if (rank.rank() == 0) {
            StuckDispatch stuck(*communicator, device);
            wait_for_stage(*communicator, "cumsum");
            check_ok(communicator->health());  // nothing has failed yet
            CHECK_EQ(communicator->progress().size(), 5U);
            stuck.join();
            CHECK_EQ(communicator->health().record.code, Code::kTimeout);
        }
        rank.barrier();
    });
}

TEST(close_ends_a_stuck_kernel_within_a_second) {
    run_npu_ranks(2, [](const Rank& rank, FakeDevice& device) {
        const auto communicator = npu_communicator(rank);
        if (rank.rank() == 0) {
            StuckDispatch stuck(*communicator, device);
            wait_for_stage(*communicator, "cumsum");
            CHECK(seconds_of([&] { communicator->close(); }) < 1.0);
            stuck.join();
            communicator->close();
            CHECK(communicator->closed());
            RoundTrip after(*communicator, 16, 0);
            CHECK(contains(after.dispatch().message, "is closed"));
            CHECK(communicator->progress().empty());
        } else {
            communicator->close();
        }
        rank.barrier();
        // The processes go on with a new one, in the window that is free again.
        const auto next = npu_communicator(rank, "next");
        CHECK_EQ(next->machine().window_offset, 0U);
        const auto round = enqueue_round(*next, 16, 2);
        check_ok(next->synchronize());
        CHECK(round->x_out == round->x);
    });
}

TEST(close_leaves_alone_what_cannot_be_ended) {
    run_npu_ranks(2, [](const Rank& rank, FakeDevice& device) {
        const auto communicator = npu_communicator(rank);
        if (rank.rank() == 0) {
            RoundTrip never(*communicator, 16, 0);
            check_ok(never.dispatch());  // its stream does not run: as a device that hangs
            const int allocations = device.counts.allocations;
            CHECK(seconds_of([&] { communicator->close(); }) < 1.0);
            // The page reader's buffer goes; workspace, slots and window stay.
            CHECK_EQ(device.counts.allocations.load(), allocations - 1);
        } else {
            communicator->close();
        }
        rank.barrier();
        const auto next = npu_communicator(rank, "next");
        CHECK_EQ(next->machine().window_offset, next->window_bytes());
        next->close();
    });
}

uint64_t window_bytes_of(const CommunicatorOptions& options) {
    return op_host::required_window_bytes(options.limits);
}

TEST(communicators_of_the_same_ranks_share_heap_and_queues) {
    run_npu_ranks(2, [](const Rank& rank, FakeDevice& device) {
        CommunicatorOptions options = npu_options(rank, "first");
        options.combine_engine = CombineEngine::kUrma;
        options.heap_bytes = 3 * window_bytes_of(options);
        const auto first = Communicator::create(options, rank.all_gather());
        options.name = "second";
        const auto second = Communicator::create(options, rank.all_gather());
        CHECK_EQ(first->machine().window_offset, 0U);
        CHECK_EQ(second->machine().window_offset, first->window_bytes());
        CHECK_EQ(second->machine().queue_table, first->machine().queue_table);
        // Queues of eight entries wrap many times, whoever uses them.
        std::vector<std::unique_ptr<RoundTrip>> rounds;
        FakeStream* streams[] = {device.current(), device.make_stream()};
        for (int64_t i = 0; i < 12; ++i) {
            rounds.push_back(enqueue_round(i % 2 == 0 ? *first : *second, 16 - i % 3, i));
            device.use(streams[i % 2]);
        }
        check_ok(first->synchronize());
        check_ok(second->synchronize());
        for (const auto& round : rounds)
            CHECK(round->x_out == round->x);
        // The counters outlive a communicator: the next one goes on where the rings stand.
        first->close();
        options.name = "third";
        const auto third = Communicator::create(options, rank.all_gather());
        CHECK_EQ(third->machine().window_offset, 0U);
        const auto again = enqueue_round(*third, 16, 1);
        const auto other = enqueue_round(*second, 16, 2);
        check_ok(third->synchronize());
        check_ok(second->synchronize());
        CHECK(again->x_out == again->x && other->x_out == other->x);
    });
}

TEST(ranks_that_closed_different_windows_agree_on_one) {
    run_npu_ranks(2, [](const Rank& rank, FakeDevice&) {
        CommunicatorOptions options = npu_options(rank, "a");
        options.heap_bytes = 3 * window_bytes_of(options);
        const auto a = Communicator::create(options, rank.all_gather());
        options.name = "b";
        const auto b = Communicator::create(options, rank.all_gather());
        (rank.rank() == 0 ? a : b)->close();
        options.name = "c";
        const auto c = Communicator::create(options, rank.all_gather());
        CHECK_EQ(c->machine().window_offset, 2 * c->window_bytes());
        const auto round = enqueue_round(*c, 16, 1);
        check_ok(c->synchronize());
        CHECK(round->x_out == round->x);
        options.name = "d";
        const op_host::Status full = creation_error(options, rank.all_gather());
        CHECK(contains(full.message, "does not fit the heap of"));
        rank.barrier();
    });
}

TEST(a_communicator_over_other_ranks_is_refused) {
    run_npu_ranks(3, [](const Rank& rank, FakeDevice&) {
        const auto all = npu_communicator(rank, "all");
        // Ranks 0 and 1 alone; rank 2 looks on.
        const AllGather everyone = rank.all_gather();
        CommunicatorOptions options = npu_options(rank, "two");
        options.limits.num_ranks = 2;
        options.limits.num_experts = 8;
        if (rank.rank() == 2) {
            everyone("");
            return;
        }
        const AllGather two = [&](const std::string& mine) {
            std::vector<std::string> answers = everyone(mine);
            answers.resize(2);
            return answers;
        };
        const op_host::Status status = creation_error(options, two);
        CHECK(
            contains(status.message, "rank 0 has an endpoint of 3 ranks, in which it is rank 0, and this group of 2"));
        CHECK(status.refusal.code == Code::kNotEqual);
    });
}

TEST(errors_of_the_runtime_name_function_and_code) {
    run_npu_ranks(2, [](const Rank& rank, FakeDevice& device) {
        CommunicatorOptions options = npu_options(rank, "first");
        if (rank.rank() == 1) device.fail_next("aclrtMalloc", 207001);
        op_host::Status status = creation_error(options, rank.all_gather());
        CHECK(contains(status.message,
                       "aclrtMalloc of 256 bytes failed with ACL error 207001: EE9999: told by the fake"));
        CHECK_EQ(status.record.code, Code::kQueueFault);
        CHECK_EQ(status.record.root, 1U);
        if (rank.rank() == 0) device.fail_next("aclshmemx_init_attr", -6);
        status = creation_error(options, rank.all_gather());
        CHECK(contains(status.message, "aclshmemx_init_attr failed with code -6 (bootstrap"));
        // All gave up both times, so the third try starts anew.
        const auto communicator = Communicator::create(options, rank.all_gather());
        RoundTrip round(*communicator, 16, 0);
        if (rank.rank() == 0) {
            device.fail_next("aclrtMemcpyAsync", 507018);
            check_ok(round.dispatch());
            RoundTrip next(*communicator, 16, 0);
            status = next.dispatch();
            CHECK(contains(status.message, "aclrtMemcpyAsync of tiling data failed with ACL error 507018"));
            CHECK_EQ(device.counts.launches.load(), 0);
        }
        rank.barrier();
    });
}

TEST(what_a_device_does_not_offer_is_refused) {
    run_npu_ranks(1, [](const Rank& rank, FakeDevice&) {
        const auto message = [&](const std::function<void(CommunicatorOptions&)>& change) {
            CommunicatorOptions options = npu_options(rank);
            change(options);
            return creation_error(options, rank.all_gather()).message;
        };
        CHECK(contains(message([](CommunicatorOptions& o) { o.num_cores = 9; }), "has 8 AIV cores"));
        CHECK(contains(message([](CommunicatorOptions& o) { o.queue_depth = 64; }), "queue_depth is 64"));
        CHECK(contains(message([](CommunicatorOptions& o) { o.queues_per_peer = 2; }),
                       "queues_per_peer is 2: on a device aclshmem makes one queue to each peer"));
        CHECK(contains(message([](CommunicatorOptions& o) { o.policy = "sim"; }), "policies are of the twin"));
        CHECK(contains(message([](CommunicatorOptions& o) { o.heap_bytes = 4096; }), "heap_bytes is 4096"));
        const auto communicator = npu_communicator(rank);
        CHECK(contains(communicator->set_fault("drop-wqe", 0, 1).message, "target='twin'"));
        CommunicatorOptions all_cores = npu_options(rank, "all cores");
        all_cores.num_cores = 0;
        CHECK_EQ(Communicator::create(all_cores, rank.all_gather())->options().num_cores, 8U);
    });
}

}  // namespace
}  // namespace ascend_deepep::test
