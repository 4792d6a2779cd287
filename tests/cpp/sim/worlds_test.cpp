// SPDX-License-Identifier: Apache-2.0
// What worlds are made of: a rank that dies and those that go on without it, two communicators, rings of every size,
// numbers about to wrap. Layer: tests.
#include <algorithm>

#include "check.h"
#include "framework/runtime/kernel_library.h"
#include "simulator/scenario/checks/survivors.h"
#include "simulator/scenario/draw_timed.h"
#include "simulator/scenario/summary.h"
#include "twin/sim/checks/liveness.h"

namespace ascend_deepep::test {
namespace {

using namespace simulator;

// Twice: the same seed takes the same steps.
SeedResult run(uint64_t seed, const SeedOptions& options) {
    const SeedResult result = run_seed(seed, options, kernel_table("sim"));
    const SeedResult again = run_seed(seed, options, kernel_table("sim"));
    CHECK_EQ(again.hash, result.hash);
    CHECK_EQ(again.events, result.events);
    CHECK_EQ(again.virtual_ns, result.virtual_ns);
    for (const sim::Finding& finding : result.findings) {
        check::fail(__FILE__, __LINE__, "seed " + std::to_string(seed) + " [" + finding.checker + "] " + finding.what);
    }
    return result;
}

// The checkers see to it that each call is exact or names the dead rank in time; this is that something happens. All
// 500 points are in tests/python/sim/test_worlds.py.
TEST(ranks_die_anywhere_and_the_others_go_on) {
    SeedOptions options;
    options.forced = sim::SimFault::kRankDies;
    Summary summary;
    for (uint64_t seed = 1; seed <= 25; ++seed) {
        const SeedResult result = run(seed, options);
        CHECK(result.num_ranks >= 2);
        CHECK_EQ(result.num_survivors, result.has_struck ? result.num_ranks - 1 : 0);
        summary.add(result);
    }
    // A death near the end of the run comes too late where the rank is done by then.
    CHECK(summary.with_survivors() * 100 >= summary.worlds() * 95);
    CHECK(summary.failed() * 10 >= summary.worlds() * 8);
}

// Nobody has died: all go on, the one that failed first among them.
TEST(a_failed_rank_that_lives_is_a_survivor) {
    SeedOptions options;
    options.forced = sim::SimFault::kBadCqe;
    uint32_t met = 0;
    for (uint64_t seed = 1; seed <= 25; ++seed) {
        const SeedResult result = run(seed, options);
        if (result.num_survivors == 0) continue;
        CHECK_EQ(result.num_survivors, result.num_ranks);
        CHECK(result.failures > 0);
        ++met;
    }
    CHECK(met >= 3);
}

TEST(worlds_meet_every_condition) {
    Summary summary;
    for (uint64_t seed = 1; seed <= 2000; ++seed) {
        const Scenario scenario = make_scenario(seed, SeedOptions{});
        SeedResult result;
        result.fault = scenario.world.fault.kind;
        result.has_struck = true;
        result.num_ranks = scenario.world.limits.num_ranks;
        result.has_remote_row = has_remote_row(scenario);
        result.conditions = conditions_of(scenario);
        result.features = features_of(scenario);
        summary.add(result);
    }
    CHECK_EQ(summary.struck().size(), size_t{sim::kNumSimFaults});
    for (const auto& [name, count] : summary.struck())
        CHECK(count >= 20);
    for (uint32_t depth = kMinQueueDepth; depth <= kMaxQueueDepth; depth *= 2)
        CHECK(summary.conditions().at("ring-" + std::to_string(depth)) >= 20);
    for (const char* name :
         {"tag-wrap", "index-wrap", "cq-index-wrap", "two-communicators", "evictions-off", "evictions-random",
          "evictions-storm", "limited-links", "drawn-roles", "queues-1", "queues-2", "queues-3", "queues-4"})
        CHECK(summary.conditions().at(name) >= 20);
    CHECK(summary.remote() * 100 >= summary.worlds() * 80);
    CHECK_EQ(summary.features().size(), size_t{29});
    for (const auto& [name, count] : summary.features()) {
        if (count * 20 < summary.worlds()) check::fail(__FILE__, __LINE__, name + " in " + std::to_string(count));
    }
}

TEST(a_thousand_seeds_have_every_shape_that_is_timed) {
    Summary summary;
    for (uint64_t seed = 1; seed <= 1000; ++seed) {
        const Scenario scenario = make_scenario(seed, SeedOptions{});
        SeedResult result;
        result.timed = timed_kind(scenario.world.limits, scenario);
        summary.add(result);
    }
    uint64_t worlds = 0;
    for (const auto& [kind, count] : summary.timed())
        worlds += count;
    CHECK_EQ(summary.timed().size(), size_t{kTimedKinds});
    CHECK(worlds * 100 <= summary.worlds() * 4);
}

// Both communicators of a world are called, in turn.
TEST(two_communicators_are_called_in_turn) {
    uint32_t in_turn = 0;
    for (uint64_t seed = 1; seed <= 200; ++seed) {
        uint32_t changes = 0;
        const std::vector<Operation> operations = all_operations(make_scenario(seed, SeedOptions{}));
        for (size_t i = 1; i < operations.size(); ++i)
            changes += operations[i].communicator != operations[i - 1].communicator ? 1 : 0;
        in_turn += changes >= 2 ? 1 : 0;
    }
    CHECK(in_turn >= 20);
}

TEST(a_world_that_takes_too_many_steps_is_not_live) {
    const sim::WorldSize size{2, 8, 30};
    const uint64_t bound = sim::step_bound(size);
    CHECK(sim::liveness_fault(size, bound).empty());
    CHECK(sim::liveness_fault(size, bound + 1).find("2 processes with 8 cores") != std::string::npos);
    CHECK(sim::liveness_fault({2, 8, 0}, bound + 1).empty());
}

TEST(survivors_make_no_excuses) {
    OperationOutcome outcome{};
    CHECK(survivors_fault(1, 0, outcome).empty());
    CHECK(!survivors_fault(1, 1, outcome).empty());
    outcome.code = Code::kTimeout;
    CHECK(survivors_fault(1, 0, outcome).find("rank 1") != std::string::npos);
}

}  // namespace
}  // namespace ascend_deepep::test
