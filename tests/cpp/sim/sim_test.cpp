// SPDX-License-Identifier: Apache-2.0
// The kernels under the simulator, and the simulator's own promises: a seed is one run and no other. Layer: tests.
#include <algorithm>
#include <map>
#include <set>

#include "check.h"
#include "framework/runtime/kernel_library.h"
#include "simulator/scenario/runner.h"

namespace ascend_deepep::test {
namespace {

using namespace simulator;

constexpr uint64_t kSeeds = 200;  // thousands are run by tests/python/sim
constexpr uint64_t kTwice = 60;   // of them

const twin::KernelTable& kernels() {
    return kernel_table("sim");
}

void report(uint64_t seed, const SeedResult& result) {
    for (const sim::Finding& finding : result.findings) {
        check::fail(__FILE__, __LINE__,
                    "seed " + std::to_string(seed) + " [" + finding.checker + "] " + finding.what +
                        "; replay: sim_run --seed " + std::to_string(seed));
    }
}

// One run of the seeds serves several tests.
const std::vector<SeedResult>& results() {
    static const std::vector<SeedResult> all = [] {
        std::vector<SeedResult> runs;
        for (uint64_t seed = 1; seed <= kSeeds; ++seed)
            runs.push_back(run_seed(seed, SeedOptions{}, kernels()));
        return runs;
    }();
    return all;
}

TEST(seeds_hold) {
    for (uint64_t seed = 1; seed <= kSeeds; ++seed)
        report(seed, results()[seed - 1]);
}

// I7. Seeds in which a rank was still sending rows of a refused combine when another combine, of another dispatch, gave
// their slots to other ranks. Their findings were "overtaking" while a refusal was no use of a half.
TEST(rows_of_a_refused_combine_meet_no_later_ones) {
    for (uint64_t seed : {21, 768})
        report(seed, run_seed(seed, SeedOptions{}, kernels()));
}

TEST(a_seed_takes_the_same_steps_again) {
    for (uint64_t seed = 1; seed <= kTwice; ++seed) {
        const SeedResult again = run_seed(seed, SeedOptions{}, kernels());
        CHECK_EQ(again.hash, results()[seed - 1].hash);
        CHECK_EQ(again.events, results()[seed - 1].events);
        CHECK_EQ(again.virtual_ns, results()[seed - 1].virtual_ns);
    }
}

TEST(seeds_take_different_steps) {
    std::set<uint64_t> hashes;
    for (const SeedResult& result : results())
        hashes.insert(result.hash);
    CHECK(hashes.size() * 100 >= kSeeds * 95);
}

TEST(faults_of_every_kind_strike_and_some_calls_fail) {
    std::map<sim::SimFault, uint32_t> struck, failed;
    for (const SeedResult& result : results()) {
        struck[result.fault] += result.has_struck ? 1 : 0;
        failed[result.fault] += result.failures;
    }
    for (uint32_t kind = 1; kind < sim::kNumSimFaults; ++kind) {
        const auto fault = static_cast<sim::SimFault>(kind);
        CHECK(struck[fault] >= 3);
        if (fault != sim::SimFault::kLinkSlow) CHECK(failed[fault] >= 3);
    }
    CHECK_EQ(failed[sim::SimFault::kNone], 0U);
    CHECK_EQ(failed[sim::SimFault::kLinkSlow], 0U);
}

// Most worlds are worth their time: several ranks, and rows that go from one to another.
TEST(most_worlds_write_to_peers) {
    const auto count =
        std::count_if(results().begin(), results().end(), [](const SeedResult& r) { return r.writes > 2; });
    CHECK(static_cast<uint64_t>(count) * 100 >= kSeeds * 75);
}

// Nothing is found where nothing is dropped. With faults: `seeds_hold`.
bool holds(const SeedOptions& options) {
    for (uint64_t seed = 1; seed <= 60; ++seed) {
        const SeedResult result = run_seed(seed, options, kernels());
        report(seed, result);
        if (!result.findings.empty()) return false;
    }
    return true;
}

// Whether the checker stops one of the first hundred seeds.
bool is_stopped(const SeedOptions& options, const char* checker) {
    for (uint64_t seed = 1; seed <= 100; ++seed) {
        for (const sim::Finding& finding : run_seed(seed, options, kernels()).findings)
            if (finding.checker == checker) return true;
    }
    return false;
}

// A1 is what the protocol stands on: without it readers take data that is not there.
TEST(without_a1_a_reader_takes_what_has_not_come) {
    SeedOptions options;
    options.with_faults = false;
    CHECK(holds(options));
    options.assumptions.flags_after_data = false;
    CHECK(is_stopped(options, "unwritten"));
}

// A2: a write that is still under way when its kernel has ended meets one of a later operation.
TEST(without_a2_writes_of_two_operations_meet) {
    SeedOptions options;
    options.forced = sim::SimFault::kLateWrite;
    CHECK(holds(options));
    options.assumptions.finished_has_landed = false;
    CHECK(is_stopped(options, "overtaking"));
}

// A3 lets a builder use ring slots again: without it the queue finds a WQE of another pass.
TEST(without_a3_a_slot_is_rewritten_too_early) {
    SeedOptions options;
    options.with_faults = false;
    options.assumptions.completed_was_fetched = false;
    CHECK(is_stopped(options, "queues"));
}

// I6 counts on it: the CQ doorbell is in front of the barrier of `completed`, which lets the builder go on.
TEST(without_the_register_barrier_a_cq_overruns) {
    SeedOptions options;
    options.assumptions.barrier_covers_registers = false;
    CHECK(is_stopped(options, "queues"));
}

}  // namespace
}  // namespace ascend_deepep::test
