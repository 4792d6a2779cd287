// SPDX-License-Identifier: Apache-2.0
// Calls through the runtime with the real kernels: round trips, refusals, failures, who may call. Layer: tests.
#include <atomic>
#include <chrono>
#include <thread>

#include "framework/runtime/status_payload.h"
#include "runtime/ranks.h"
#include "runtime/round_trip.h"

namespace {

using namespace ascend_deepep;
using namespace ascend_deepep::test;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

std::string class_name(const op_host::Status& status) {
    return status_payload(status).class_name;
}

void round_trips(const std::string& policy, CombineEngine engine, uint32_t first_tag_low) {
    run_ranks(3, [&](const Rank& rank) {
        CommunicatorOptions options = rank.options();
        options.policy = policy;
        options.combine_engine = engine;
        options.first_tag_low = first_tag_low;
        options.queue_depth = 4;
        const auto communicator = Communicator::create(options, rank.all_gather());
        for (int64_t round = 0; round < 6; ++round) {
            RoundTrip trip(*communicator, (round * 5 + rank.rank()) % 17, round);
            trip.run();
        }
        CHECK_EQ(communicator->counters().operations, 12U);
    });
}

TEST(round_trips_are_exact_fast) {
    round_trips("fast", CombineEngine::kMte, 0);
}
TEST(round_trips_are_exact_fast_urma) {
    round_trips("fast", CombineEngine::kUrma, 0);
}
TEST(round_trips_are_exact_sim) {
    round_trips("sim", CombineEngine::kMte, 0);
}
TEST(round_trips_are_exact_sim_urma) {
    round_trips("sim", CombineEngine::kUrma, 0);
}
TEST(round_trips_are_exact_while_the_tag_carries) {
    round_trips("fast", CombineEngine::kMte, 0xFFFFFFFC);
}

TEST(counters_tell_what_went_to_other_ranks) {
    run_ranks(2, [](const Rank& rank) {
        const auto communicator = Communicator::create(rank.options(), rank.all_gather());
        // 8 experts, 4 a rank: of 8 tokens half go to the other rank.
        RoundTrip(*communicator, 8, 0).run();
        const Counters counted = communicator->counters();
        CHECK_EQ(counted.copies, 4U);
        CHECK_EQ(counted.wqes_dispatch, 4U);
        CHECK_EQ(counted.rows, 4U);
        CHECK_EQ(counted.bytes_put_dispatch, 4U * 512U);
        CHECK_EQ(counted.bytes_put_combine, 4U * 512U);
        CHECK_EQ(counted.bytes_put_control, 2U * 512U);
        CHECK(counted.doorbells_dispatch >= 1 && counted.doorbells_dispatch <= 4);
        CHECK_EQ(counted.wqes_combine + counted.doorbells_combine, 0U);
        for (Stage stage : {Stage::kStage, Stage::kDoorbell, Stage::kCumsum, Stage::kReduce}) {
            CHECK(counted.role_ns.at(static_cast<uint32_t>(stage)) > 0);
        }
        rank.barrier();
        communicator->close();
        CHECK_EQ(communicator->counters().copies, 4U);
    });
}

TEST(a_refusal_is_raised_on_all_ranks_and_the_next_call_is_exact) {
    run_ranks(2, [](const Rank& rank) {
        const auto communicator = Communicator::create(rank.options(), rank.all_gather());
        RoundTrip(*communicator, 5, 0).run();
        RoundTrip bad(*communicator, 5, 0);
        if (rank.rank() == 1) bad.dispatch_call.attributes.ep_world_size = 3;
        const op_host::Status status = bad.dispatch();
        CHECK_EQ(class_name(status), rank.rank() == 1 ? "ArgumentError" : "Mismatch");
        CHECK(contains(status.message, "ep_world_size"));
        CHECK_EQ(status_payload(status).root, 1);
        CHECK_EQ(status_payload(status).operation, "dispatch_v2");
        RoundTrip ids(*communicator, 5, 0);
        if (rank.rank() == 0) ids.expert_ids[3] = 99;
        const op_host::Status refused = ids.dispatch();
        CHECK_EQ(class_name(refused), rank.rank() == 0 ? "ArgumentError" : "Mismatch");
        CHECK(contains(refused.message, "expert_ids[3, 0]"));
        CHECK(communicator->health().ok());
        RoundTrip(*communicator, 6, 1).run();
    });
}

TEST(a_rank_that_does_not_come_is_named_after_the_time_out) {
    run_ranks(2, [](const Rank& rank) {
        CommunicatorOptions options = rank.options();
        options.timeout_ms = 300;
        const auto communicator = Communicator::create(options, rank.all_gather());
        if (rank.rank() == 0) {
            const auto start = Clock::now();
            const op_host::Status status = RoundTrip(*communicator, 3, 0).dispatch();
            CHECK(seconds_since(start) >= 0.3 && seconds_since(start) < 1.3);
            CHECK_EQ(class_name(status), "WaitTimeout");
            const StatusPayload payload = status_payload(status);
            CHECK_EQ(payload.root, 1);
            CHECK_EQ(payload.rank, 0);
            CHECK(!payload.stage.empty());
            CHECK(payload.seconds >= 0.3);
            // Broken: the first failure is the answer from now on, at once.
            const op_host::Status again = RoundTrip(*communicator, 3, 0).combine();
            CHECK_EQ(again.message, status.message);
            CHECK_EQ(communicator->health().message, status.message);
            communicator->close();
        }
        rank.barrier();
        // The same processes can go on with a new one.
        const auto fresh = Communicator::create(rank.options("fresh"), rank.all_gather());
        RoundTrip(*fresh, 7, 2).run();
    });
}

TEST(a_killed_rank_is_named_within_two_seconds) {
    run_ranks(
        3,
        [](const Rank& rank) {
            const auto communicator = Communicator::create(rank.options(), rank.all_gather());
            RoundTrip(*communicator, 5, 0).run();
            rank.barrier();
            if (rank.rank() == 2) ::kill(::getpid(), SIGKILL);
            const auto start = Clock::now();
            const op_host::Status status = RoundTrip(*communicator, 5, 1).dispatch();
            CHECK(seconds_since(start) < 2.0);
            CHECK_EQ(class_name(status), "PeerLost");
            CHECK_EQ(status_payload(status).root, 2);
        },
        2);
}

TEST(a_closed_peer_is_named_within_two_seconds) {
    run_ranks(2, [](const Rank& rank) {
        const auto communicator = Communicator::create(rank.options(), rank.all_gather());
        RoundTrip(*communicator, 5, 0).run();
        if (rank.rank() == 1) communicator->close();
        rank.barrier();
        const op_host::Status status = RoundTrip(*communicator, 5, 1).dispatch();
        CHECK_EQ(class_name(status), rank.rank() == 1 ? "ArgumentError" : "PeerLost");
        CHECK(contains(status.message, rank.rank() == 1 ? "closed" : "rank 1"));
    });
}

TEST(a_rank_that_leaves_after_its_last_call_is_not_missed) {
    run_ranks(4, [](const Rank& rank) {
        const auto communicator = Communicator::create(rank.options(), rank.all_gather());
        if (rank.rank() == 3) std::this_thread::sleep_for(std::chrono::milliseconds(300));
        RoundTrip(*communicator, 16, 0).run();  // and out, while rank 3 may still be collecting
    });
}

TEST(one_thread_at_a_time_and_close_ends_its_call) {
    run_ranks(2, [](const Rank& rank) {
        const auto communicator = Communicator::create(rank.options(), rank.all_gather());
        if (rank.rank() == 0) {
            op_host::Status first;
            std::thread caller([&] { first = RoundTrip(*communicator, 3, 0).dispatch(); });
            std::this_thread::sleep_for(std::chrono::milliseconds(300));
            const op_host::Status second = RoundTrip(*communicator, 3, 0).dispatch();
            CHECK(contains(second.message, "another thread"));
            CHECK_EQ(class_name(second), "ArgumentError");
            const auto start = Clock::now();
            communicator->close();
            CHECK(seconds_since(start) < 1.0);
            caller.join();
            CHECK(seconds_since(start) < 1.0);
            CHECK(contains(first.message, "closed by another thread"));
        }
        rank.barrier();
    });
}

TEST(a_broken_rule_of_the_subset_is_an_error_on_all_ranks) {
    run_ranks(2, [](const Rank& rank) {
        CommunicatorOptions options = rank.options();
        options.policy = "sim";
        const auto communicator = Communicator::create(options, rank.all_gather());
        RoundTrip trip(*communicator, 5, 0);
        // The runtime is told of one id, the kernel of five: it reads past the tensor.
        if (rank.rank() == 0) {
            trip.dispatch();
            trip.dispatch_call.expert_ids.shape = {1, 1};
            uint32_t num_rows = 0;
            const op_host::Status status =
                communicator->dispatch(trip.dispatch_call, trip.dispatch_buffers(), &num_rows);
            CHECK(contains(status.message, "dispatch_v2 on rank 0"));
            CHECK(contains(status.message, "an access lies in a tensor of the call"));
            CHECK_EQ(class_name(status), "FabricError");
            CHECK_EQ(communicator->health().message, status.message);
        } else {
            CHECK(trip.dispatch().ok());
            const auto start = Clock::now();
            const op_host::Status status = trip.dispatch();
            CHECK(seconds_since(start) < 2.0);
            CHECK_EQ(class_name(status), "DeepEPError");
            CHECK_EQ(status_payload(status).root, 0);
        }
    });
}

std::atomic<bool> signal_came{false};

TEST(a_pending_signal_ends_a_wait_within_a_second) {
    run_ranks(2, [](const Rank& rank) {
        set_interrupt_check([] { return signal_came.load(); });
        const auto communicator = Communicator::create(rank.options(), rank.all_gather());
        if (rank.rank() == 0) {
            std::thread sender([] {
                std::this_thread::sleep_for(std::chrono::milliseconds(200));
                signal_came.store(true);
            });
            const auto start = Clock::now();
            const op_host::Status status = RoundTrip(*communicator, 3, 0).dispatch();
            CHECK(seconds_since(start) < 1.2);
            CHECK(contains(status.message, "interrupted"));
            sender.join();
        }
        rank.barrier();
    });
}

TEST(a_forked_child_may_not_use_it_and_harms_nothing) {
    run_ranks(2, [](const Rank& rank) {
        const auto communicator = Communicator::create(rank.options(), rank.all_gather());
        const pid_t child = ::fork();
        if (child == 0) {
            const op_host::Status status = RoundTrip(*communicator, 3, 0).dispatch();
            const bool is_refused = contains(status.message, "inherited over fork");
            communicator->close();
            const Rank alone(&rank.meeting(), 0, 1);
            CommunicatorOptions options = alone.options();
            const auto same_name =
                Communicator::create(options, [](const std::string& mine) { return std::vector<std::string>{mine}; });
            RoundTrip(*same_name, 4, 0).run();
            ::_exit(is_refused && check::failures() == 0 ? 0 : 1);
        }
        int status = 0;
        ::waitpid(child, &status, 0);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        rank.barrier();
        RoundTrip(*communicator, 4, 0).run();
    });
}

// Rank 0 has the fault; at least one rank must not end as if nothing had been.
void expect_caught(const std::string& fault) {
    run_ranks(2, [&](const Rank& rank) {
        CommunicatorOptions options = rank.options();
        options.timeout_ms = 500;
        const auto communicator = Communicator::create(options, rank.all_gather());
        RoundTrip(*communicator, 8, 0).run();
        if (rank.rank() == 0) CHECK(communicator->set_fault(fault, 5, 1).ok());
        rank.barrier();
        RoundTrip trip(*communicator, 8, 0);
        const op_host::Status dispatched = trip.dispatch();
        const op_host::Status combined = dispatched.ok() ? trip.combine() : dispatched;
        rank.meeting().words[rank.rank()] = combined.ok() && trip.x_out == trip.x ? 1 : 2;
        if (rank.rank() == 0) CHECK(communicator->fault_fired());
        rank.barrier();
        if (rank.meeting().words[0] + rank.meeting().words[1] == 2) check::fail(__FILE__, __LINE__, fault + ": exact");
    });
}

TEST(no_fault_ends_in_an_exact_result) {
    for (const char* fault :
         {"drop-wqe", "flip-bit", "stale-flag", "drop-control", "swap-slots", "late-flag", "bad-cqe"}) {
        expect_caught(fault);
    }
}

TEST(the_environment_can_plant_a_fault) {
    run_ranks(2, [](const Rank& rank) {
        ::setenv("ASCEND_DEEPEP_TWIN_FAULT", "bad-cqe:1:2", 1);
        const auto communicator = Communicator::create(rank.options(), rank.all_gather());
        const op_host::Status status = RoundTrip(*communicator, 8, 0).dispatch();
        CHECK_EQ(class_name(status), "FabricError");
        CHECK_EQ(communicator->fault_fired(), rank.rank() == 1);
        ::setenv("ASCEND_DEEPEP_TWIN_FAULT", "bad:1:2", 1);
        CHECK(contains(creation_error(rank.options("b"), rank.all_gather()).message, "name:rank:n is needed"));
    });
}

TEST(an_unknown_fault_is_refused) {
    run_ranks(1, [](const Rank& rank) {
        const auto communicator = Communicator::create(rank.options(), rank.all_gather());
        CHECK(contains(communicator->set_fault("drop", 1, 1).message, "known faults are drop-wqe"));
        CHECK(!communicator->set_fault("drop-wqe", 1, 0).ok());
        CHECK(!communicator->fault_fired());
    });
}

TEST(statuses_become_the_documented_classes) {
    const auto failure = [](Code code, Code origin) {
        op_host::Status status;
        status.record.code = code;
        status.record.got = static_cast<int64_t>(origin);
        return class_name(status);
    };
    CHECK_EQ(failure(Code::kTimeout, Code::kOk), "WaitTimeout");
    CHECK_EQ(failure(Code::kPeerLost, Code::kOk), "PeerLost");
    CHECK_EQ(failure(Code::kBadCompletion, Code::kOk), "FabricError");
    CHECK_EQ(failure(Code::kCorruptBlock, Code::kOk), "FabricError");
    CHECK_EQ(failure(Code::kPeerAborted, Code::kTimeout), "WaitTimeout");
    CHECK_EQ(failure(Code::kPeerAborted, Code::kOk), "DeepEPError");
    CHECK_EQ(class_name(own_refusal(3, Code::kNotImplemented, Field::kScales, 0, 0, "")), "NotImplementedError");
    CHECK_EQ(class_name(own_refusal(3, Code::kSignature, Field::kHidden, 0, 0, "")), "Mismatch");
    CHECK_EQ(class_name(own_refusal(3, Code::kBadShape, Field::kX, 0, 0, "")), "ArgumentError");
    CHECK_EQ(class_name(setup_failure(1, "no memory")), "FabricError");
}

}  // namespace
