// SPDX-License-Identifier: Apache-2.0
// Calls that differ, ranks that break, aborts at any moment: all ranks agree and nothing leaks. Layer: tests.
#include <atomic>
#include <chrono>
#include <thread>

#include "rounds.h"

namespace ascend_deepep::test {
namespace {

CombineEngine engine_of(uint32_t i) {
    return i % 2 == 0 ? CombineEngine::kMte : CombineEngine::kUrma;
}

// A kernel launched on a broken communicator (graph replay on an NPU has no host check) must not write to its peers.
TEST(a_broken_communicator_moves_nothing) {
    for (const char* policy : {"fast", "sim"}) {
        const Case c{4, 5, 2, 8, 128, 8};
        WorldOptions options = world_of(c, policy);
        options.timeout_ms = 300;
        std::atomic<int> broken{0};
        run_world(options, [&](RankMachine& rank) {
            check_round(rank, c, 0);
            if (rank.rank() == 2) return;
            rank.dispatch(make_batch(c, rank.rank(), 1));
            CHECK_EQ(rank.fabric().control_page().state.is_broken, uint64_t{1});
            ++broken;
            while (broken < 3)
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
            const twin::Traffic before = rank.fabric().traffic();
            const auto root = rank.fabric().control_page().record.root;
            const auto start = std::chrono::steady_clock::now();
            for (int i = 0; i < 3; ++i)
                rank.dispatch(make_batch(c, rank.rank(), 2));
            const twin::Traffic after = rank.fabric().traffic();
            CHECK(std::chrono::steady_clock::now() - start < std::chrono::milliseconds(200));
            CHECK_EQ(after.bytes_dispatch, before.bytes_dispatch);
            CHECK_EQ(after.bytes_control, before.bytes_control);
            CHECK_EQ(rank.fabric().control_page().record.root, root);
            CHECK(rank.fabric().control_page().outcome.code != Code::kOk);
        });
    }
}

// The same for combine alone.
TEST(a_broken_communicator_combines_nothing) {
    for (uint32_t e = 0; e < 2; ++e) {
        const Case c{4, 5, 2, 8, 128, 8};
        WorldOptions options = world_of(c, "fast");
        options.engine = engine_of(e);
        options.timeout_ms = 300;
        run_world(options, [&](RankMachine& rank) {
            const Batch batch = make_batch(c, rank.rank(), 1);
            const DispatchResult d = rank.dispatch(batch);
            if (rank.rank() == 2) return;
            rank.combine(batch, d, d.expand_x);
            std::this_thread::sleep_for(std::chrono::milliseconds(400));
            const twin::Traffic before = rank.fabric().traffic();
            for (int i = 0; i < 3; ++i)
                rank.combine(batch, d, d.expand_x);
            const twin::Traffic after = rank.fabric().traffic();
            CHECK_EQ(after.bytes_combine, before.bytes_combine);
            CHECK_EQ(after.bytes_control, before.bytes_control);
        });
    }
}

// The host sets the abort word of one rank at some moment: every core leaves in good order, peers end soon.
TEST(an_abort_at_any_time) {
    for (uint32_t seed = 0; seed < 120; ++seed) {
        const Case c{3, 24, 4, 12, 1040, 4 + seed % 21, Routing::kUniform, engine_of(seed / 2), 4};
        WorldOptions options = world_of(c, seed % 2 == 0 ? "fast" : "sim");
        options.timeout_ms = 4000;
        std::atomic<bool> armed{false};
        run_world(options, [&](RankMachine& rank) {
            std::mt19937 random(seed);
            const auto wait_us = std::chrono::microseconds(random() % 6000);
            std::thread host;
            if (rank.rank() == 1) {
                host = std::thread([&, wait_us] {
                    std::this_thread::sleep_for(wait_us);
                    __atomic_store_n(&rank.fabric().control_page().abort_word.word,
                                     (uint64_t(Code::kPeerLost) << 32) | (1 + 1), __ATOMIC_RELEASE);
                    armed = true;
                });
            }
            std::chrono::steady_clock::time_point at{};
            OperationOutcome outcome{};
            DispatchResult d;
            const Batch batch = make_batch(c, rank.rank(), 1);
            for (int i = 0; i < 1000 && outcome.code == Code::kOk; ++i) {
                if (armed && at == std::chrono::steady_clock::time_point{}) at = std::chrono::steady_clock::now();
                if (i % 2 == 0) {
                    d = rank.dispatch(batch);
                    outcome = d.outcome;
                    if (outcome.code != Code::kOk) CHECK(all_are(d.ep_recv_counts, 0));
                } else {
                    outcome = rank.combine(batch, d, d.expand_x).outcome;
                }
            }
            if (host.joinable()) host.join();
            if (rank.rank() == 1) CHECK(rank.fabric().control_page().record_claim.word != 0);
            CHECK_EQ(outcome.code, Code::kPeerLost);
            CHECK_EQ(rank.fabric().control_page().abort_word.word & 0xFF, uint64_t{2});
            if (at != std::chrono::steady_clock::time_point{})
                CHECK(std::chrono::steady_clock::now() - at < std::chrono::milliseconds(1500));
        });
    }
}

TEST(a_bad_completion) {
    for (uint32_t seed = 0; seed < 20; ++seed) {
        const Case c{3, 24, 4, 12, 128, 4 + seed % 21, Routing::kUniform, engine_of(seed / 2), 4};
        WorldOptions options = world_of(c, seed % 2 == 0 ? "fast" : "sim");
        options.timeout_ms = 4000;
        run_world(options, [&](RankMachine& rank) {
            const Batch batch = make_batch(c, rank.rank(), 1);
            if (rank.rank() == 1) rank.fabric().fault().arm(twin::FaultKind::kBadCqe, seed, seed);
            const auto start = std::chrono::steady_clock::now();
            DispatchResult d = rank.dispatch(batch);
            CHECK(d.outcome.code != Code::kOk);
            CHECK(std::chrono::steady_clock::now() - start < std::chrono::milliseconds(1500));
            if (rank.rank() == 1) CHECK_EQ(d.record.code, Code::kBadCompletion);
            if (rank.rank() != 1) CHECK_EQ(d.record.code, Code::kPeerAborted);
            CHECK(all_are(d.ep_recv_counts, 0));
        });
    }
}

// One block of one token copy lands with the tag before: whichever block it is, no rank takes the copy.
TEST(a_stale_flag_is_never_taken) {
    for (uint32_t seed = 0; seed < 16; ++seed) {
        const Case c{2, 6, 2, 4, 1040, 8};
        WorldOptions options = world_of(c, seed % 2 == 0 ? "fast" : "sim");
        options.timeout_ms = 200;
        run_world(options, [&](RankMachine& rank) {
            if (rank.rank() == 1) rank.fabric().fault().arm(twin::FaultKind::kStaleFlag, seed, seed % 3);
            const DispatchResult d = rank.dispatch(make_batch(c, rank.rank(), 1));
            if (rank.rank() == 0) CHECK_EQ(d.record.code, Code::kTimeout);
            if (rank.rank() == 0) CHECK_EQ(d.record.root, 1U);
        });
    }
}

// Every rank does something of its own at every step. All must agree on whether the operation was good.
TEST(mixed_calls_agree) {
    constexpr uint32_t kRanks = 3;
    const Case c{kRanks, 6, 2, 6, 128, 8};
    for (uint32_t seed = 0; seed < 12; ++seed) {
        WorldOptions options = world_of(c, seed % 2 == 0 ? "fast" : "sim");
        options.engine = engine_of(seed / 2);
        options.queue_depth = 4;
        options.num_cores = 4 + seed * 2;
        options.timeout_ms = 5000;
        if (seed % 3 == 0) options.tag_base = (uint64_t{5} << 32) | (0xFFFFFFFFULL - 20);
        run_world(options, [&](RankMachine& rank) {
            std::mt19937 plan(seed);  // the same on all ranks
            DispatchResult held = rank.dispatch(make_batch(c, rank.rank(), 77));
            CHECK_EQ(held.outcome.code, Code::kOk);
            const Batch held_batch = make_batch(c, rank.rank(), 77);
            for (uint32_t step = 0; step < 40; ++step) {
                const uint32_t common = plan() % 2;  // 0 dispatch, 1 combine
                uint32_t acts[kRanks];
                bool is_good = true;
                for (uint32_t& act : acts) {
                    act = plan() % 5 == 0 ? 1 + plan() % 5 : 0;
                    is_good = is_good && act == 0;
                }
                const uint32_t act = acts[rank.rank()];
                Batch batch = make_batch(c, rank.rank(), step);
                OperationOutcome outcome{};
                const OperationKind own_kind = common == 0 ? OperationKind::kDispatch : OperationKind::kCombine;
                if (act == 1) {
                    outcome = rank.refuse(own_kind, Refusal{Code::kBadShape, Field::kX, 0, 0, 3, 2, rank.rank(), 0});
                } else if (act == 2) {
                    outcome = rank.refuse(common == 0 ? OperationKind::kCombine : OperationKind::kDispatch,
                                          Refusal{Code::kBadShape, Field::kX, 0, 0, 3, 2, rank.rank(), 0});
                } else if ((act == 3) != (common == 1)) {  // combine: good when common is combine
                    Batch b = held_batch;
                    if (act == 4) b.expert_ids[0] = 99;
                    if (act == 5) {
                        DispatchResult bad = held;
                        bad.assist_info[1] = 50;
                        outcome = rank.combine(b, bad, held.expand_x).outcome;
                    } else {
                        const CombineResult r = rank.combine(b, held, held.expand_x);
                        outcome = r.outcome;
                    }
                } else {
                    if (act == 4) batch.expert_ids[3] = -5;
                    if (act == 5) batch.expert_ids[1] = batch.expert_ids[0];
                    const DispatchResult r = rank.dispatch(batch);
                    outcome = r.outcome;
                }
                const bool all_swap = acts[0] == 3 && acts[1] == 3 && acts[2] == 3;
                CHECK_EQ(outcome.code == Code::kOk, is_good || all_swap);
                CHECK(outcome.code == Code::kOk || is_refusal(outcome.code));
                if (step % 5 == 4) check_round(rank, c, step);
            }
        });
    }
}

}  // namespace
}  // namespace ascend_deepep::test
