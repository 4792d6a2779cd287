// SPDX-License-Identifier: Apache-2.0
// Making communicators: what ranks agree on, what is refused and where, names, memory. Layer: tests.
#include <sys/wait.h>

#include "framework/runtime/handshake.h"
#include "framework/runtime/memory_need.h"
#include "framework/runtime/status_payload.h"
#include "op_host/sizes.h"
#include "runtime/ranks.h"
#include "runtime/round_trip.h"

namespace {

using namespace ascend_deepep;
using namespace ascend_deepep::test;

TEST(ranks_meet_close_and_meet_again) {
    run_ranks(3, [](const Rank& rank) {
        for (int time = 0; time < 2; ++time) {
            const auto communicator = Communicator::create(rank.options("again"), rank.all_gather());
            CHECK(find_communicator("again") == communicator);
            CHECK_EQ(communicator_names().size(), 1U);
            CHECK_EQ(communicator->window_bytes(), op_host::required_window_bytes(rank.options().limits));
            CHECK_EQ(communicator->layout(), "per-rank");
            CHECK_EQ(communicator->options().policy, "fast");
            CHECK_EQ(communicator->options().queue_depth, 64U);
            CHECK(communicator->health().ok());
            rank.barrier();
            communicator->close();
            communicator->close();
            CHECK(communicator->closed());
            CHECK(communicator_names().empty());
        }
    });
}

TEST(a_dropped_communicator_gives_its_name_back) {
    run_ranks(1, [](const Rank& rank) {
        Communicator::create(rank.options("dropped"), rank.all_gather());
        CHECK(communicator_names().empty());
        CHECK(creation_error(rank.options("dropped"), rank.all_gather()).ok());
    });
}

TEST(a_name_in_use_is_refused_on_every_rank) {
    run_ranks(2, [](const Rank& rank) {
        const auto first = Communicator::create(rank.options("taken"), rank.all_gather());
        const op_host::Status status = creation_error(rank.options("taken"), rank.all_gather());
        CHECK(contains(status.message, "'taken' exists in this process"));
        CHECK(Communicator::create(rank.options("free"), rank.all_gather()) != nullptr);
        RoundTrip(*first, 4, 0).run();
    });
}

TEST(an_unknown_name_is_answered_with_the_known_ones) {
    run_ranks(1, [](const Rank& rank) {
        const auto known = Communicator::create(rank.options("known"), rank.all_gather());
        try {
            find_communicator("unknown");
            CHECK(false);
        } catch (const CommunicatorError& error) {
            CHECK(contains(error.status.message, "'unknown'"));
            CHECK(contains(error.status.message, "known: 'known'"));
            CHECK(contains(error.status.message, "ascend_deepep.Communicator(group"));
            CHECK_EQ(status_payload(error.status).class_name, "ArgumentError");
        }
    });
}

// Rank 1 of two differs by `change`; both must throw a status that holds `part`.
void expect_difference(void (*change)(CommunicatorOptions&), const std::string& part) {
    run_ranks(2, [&](const Rank& rank) {
        CommunicatorOptions options = rank.options();
        if (rank.rank() == 1) change(options);
        const op_host::Status status = creation_error(options, rank.all_gather());
        if (!contains(status.message, part)) check::fail(__FILE__, __LINE__, status.message + " lacks " + part);
        CHECK_EQ(status.refusal.rank, 1U);
        CHECK_EQ(status_payload(status).class_name, rank.rank() == 1 ? "ArgumentError" : "Mismatch");
        CHECK_EQ(status_payload(status).rank, rank.rank());
        CHECK_EQ(status_payload(status).root, 1);
        // Nothing is left behind: the same ranks can make a good one.
        CHECK(Communicator::create(rank.options(), rank.all_gather()) != nullptr);
    });
}

TEST(differences_between_ranks_are_named_on_every_rank) {
    expect_difference([](CommunicatorOptions& o) { o.limits.max_tokens = 8; }, "max_tokens");
    expect_difference([](CommunicatorOptions& o) { o.limits.hidden = 128; }, "hidden");
    expect_difference([](CommunicatorOptions& o) { o.limits.num_topk = 3; }, "num_topk");
    expect_difference([](CommunicatorOptions& o) { o.limits.num_experts = 16; }, "num_experts");
    expect_difference([](CommunicatorOptions& o) { o.name = "other"; }, "other");
    expect_difference([](CommunicatorOptions& o) { o.timeout_ms = 5; }, "timeout_ms");
    expect_difference([](CommunicatorOptions& o) { o.window_bytes = 1 << 30; }, "window_bytes");
    expect_difference([](CommunicatorOptions& o) { o.combine_engine = CombineEngine::kUrma; }, "combine_engine");
}

TEST(an_illegal_argument_of_one_rank_is_an_error_on_all) {
    expect_difference([](CommunicatorOptions& o) { o.limits.hidden = 65; }, "hidden");
    expect_difference([](CommunicatorOptions& o) { o.num_cores = 3; }, "num_cores");
    expect_difference([](CommunicatorOptions& o) { o.queue_depth = 6; }, "queue_depth is 6: a power of two");
    expect_difference([](CommunicatorOptions& o) { o.queues_per_peer = 5; }, "queues_per_peer = 5 is outside [1, 4]");
    expect_difference([](CommunicatorOptions& o) { o.policy = "quick"; }, "'quick': it is 'fast' or 'sim'");
    expect_difference([](CommunicatorOptions& o) { o.name = std::string(200, 'x'); }, "1 to 127 bytes");
    expect_difference([](CommunicatorOptions& o) { o.window_bytes = 4096; }, "window_bytes");
}

TEST(ranks_may_differ_in_cores_and_queues) {
    run_ranks(2, [](const Rank& rank) {
        CommunicatorOptions options = rank.options();
        options.num_cores = rank.rank() == 0 ? 4 : 13;
        options.queue_depth = rank.rank() == 0 ? 4 : 256;
        options.queues_per_peer = rank.rank() == 0 ? 3 : 2;
        const auto communicator = Communicator::create(options, rank.all_gather());
        CHECK_EQ(communicator->machine().queues_per_peer, options.queues_per_peer);
        RoundTrip(*communicator, 9, 1).run();
    });
}

TEST(kernels_that_cannot_be_opened_are_an_error_on_all) {
    run_ranks(2, [](const Rank& rank) {
        if (rank.rank() == 1) ::setenv("ASCEND_DEEPEP_KERNELS", "/nowhere/kernels.so", 1);
        const op_host::Status status = creation_error(rank.options(), rank.all_gather());
        CHECK(contains(status.message, "/nowhere/kernels.so"));
        CHECK(contains(status.message, rank.rank() == 0 ? "rank 1: the kernels" : "the kernels cannot be loaded"));
        CHECK_EQ(status_payload(status).class_name, "FabricError");
        CHECK_EQ(status_payload(status).root, 1);
    });
}

TEST(more_memory_than_there_is_is_refused_with_both_numbers) {
    run_ranks(1, [](const Rank& rank) {
        constexpr uint32_t kRanks = 256;
        CommunicatorOptions options = rank.options();
        options.limits = {kRanks, kMaxTokens, kMaxHidden, kMaxTopk, 256, 0};
        const uint64_t need = kRanks * touched_bytes_per_rank(options.limits, CombineEngine::kMte, 1024);
        CHECK(need > (uint64_t{2} << 40));  // what no test machine has
        const auto alone_for_all = [](const std::string& mine) {
            std::vector<std::string> all;
            Handshake handshake;
            std::memcpy(&handshake, mine.data(), sizeof(handshake));
            for (handshake.rank = 0; handshake.rank < kRanks; ++handshake.rank) {
                all.emplace_back(reinterpret_cast<const char*>(&handshake), sizeof(handshake));
            }
            return all;
        };
        const op_host::Status status = creation_error(options, alone_for_all);
        CHECK(contains(status.message, std::to_string(need) + " bytes"));
        CHECK(contains(status.message, "bytes are free (MemAvailable)") || contains(status.message, "of cgroup"));
        CHECK_EQ(status.refusal.got, static_cast<int64_t>(need));
        CHECK_EQ(status_payload(status).class_name, "ArgumentError");
    });
}

TEST(the_largest_case_of_the_sweep_fits_a_machine_of_24_gb) {
    const CommunicatorLimits limits{16, 512, 8192, 16, 256, 0};
    for (CombineEngine engine : {CombineEngine::kMte, CombineEngine::kUrma}) {
        CHECK(16 * touched_bytes_per_rank(limits, engine, 512) < (uint64_t{11} << 30));
    }
    // Reserved windows are larger than what calls can touch, and alone refuse nothing.
    const CommunicatorLimits wide{16, 512, 8192, 1, 256, 0};
    CHECK(touched_bytes_per_rank(wide, CombineEngine::kMte, 512) < op_host::required_window_bytes(wide) / 4);
}

Handshake good_handshake(uint32_t rank) {
    Handshake made{};
    made.magic = kHandshakeMagic;
    made.layout_abi = kLayoutAbi;
    made.limits = {2, 16, 64, 2, 8, 0};
    made.rank = rank;
    made.host = twin::host_identity();
    set_text(made.target, "twin");
    set_text(made.name, "name");
    return made;
}

TEST(hosts_and_releases_are_compared) {
    std::vector<Handshake> all = {good_handshake(0), good_handshake(1)};
    CHECK(compare_handshakes(all, 0).ok());
    set_text(all[1].host.hostname, "node7");
    for (uint32_t rank = 0; rank < 2; ++rank) {
        const op_host::Status status = compare_handshakes(all, rank);
        CHECK(contains(status.message, "the twin runs on one host: rank 1 is on host node7"));
    }
    all[1] = good_handshake(1);
    set_text(all[1].target, "ascend950");
    CHECK(contains(compare_handshakes(all, 0).message, "the target is twin on rank 0 and ascend950 on rank 1"));
    all[1] = good_handshake(1);
    all[1].layout_abi = kLayoutAbi + 1;
    CHECK(contains(compare_handshakes(all, 0).message, "layout ABI"));
    all[1] = good_handshake(1);
    all[1].layout_hash = 5;
    CHECK(contains(compare_handshakes(all, 1).message, "different builds"));
}

TEST(answers_that_are_no_handshakes_are_refused) {
    const auto message = [](const std::vector<std::string>& gathered) {
        try {
            parse_handshakes(gathered, 0, 2);
        } catch (const CommunicatorError& error) {
            return error.status.message;
        }
        return std::string();
    };
    const auto bytes = [](const Handshake& handshake) {
        return std::string(reinterpret_cast<const char*>(&handshake), sizeof(handshake));
    };
    CHECK(contains(message({bytes(good_handshake(0))}), "1 answers for a communicator of 2 ranks"));
    CHECK(contains(message({bytes(good_handshake(0)), "short"}), "rank 1 runs another release"));
    CHECK(contains(message({bytes(good_handshake(1)), bytes(good_handshake(0))}), "place 0 came from rank 1"));
    CHECK_EQ(message({bytes(good_handshake(0)), bytes(good_handshake(1))}), "");
}

TEST(a_target_that_a_rank_does_not_have_is_refused_on_all_ranks) {
    run_ranks(2, [](const Rank& rank) {
        CommunicatorOptions options = rank.options();
        if (rank.rank() == 1) options.target = "ascend951";
        const op_host::Status status = creation_error(options, rank.all_gather());
        CHECK(contains(status.message, "target 'ascend951' is not available in this process (available: 'twin')"));
        CHECK_EQ(status.refusal.rank, 1U);
        // Both are back in step, and the target's name is that of the communicator.
        const auto communicator = Communicator::create(rank.options(), rank.all_gather());
        CHECK_EQ(communicator->target(), std::string("twin"));
        CHECK(communicator->synchronize().ok());
        const op_host::Machine machine = communicator->machine();
        CHECK(machine.window_table != 0 && machine.queue_table != 0 && machine.workspace != 0);
        CHECK_EQ(machine.rank, rank.rank());
        communicator->close();
        CHECK_EQ(communicator->machine().window_table, 0U);
    });
}

}  // namespace
