// SPDX-License-Identifier: Apache-2.0
// The simulator changes when things happen, not what comes out: without faults a scenario gives on every rank, bit for
// bit, what ranks on threads give under the Fast policy. Refused calls give the same refusal. Layer: tests.
#include <cstring>
#include <mutex>

#include "check.h"
#include "framework/runtime/kernel_library.h"
#include "protocol/world.h"
#include "simulator/scenario/runner.h"

namespace ascend_deepep::test {
namespace {

constexpr uint32_t kScenarios = 200;
constexpr uint32_t kMostCores = 40;  // of all ranks: threads share the processors of the machine

WorldOptions options_of(const Channel& channel) {
    WorldOptions options;
    options.limits = channel.config.limits;
    options.num_cores = channel.num_cores;
    options.queue_depth = channel.config.queue_depth;
    options.queues_per_peer = channel.config.queues_per_peer;
    options.engine = channel.shape.engine;
    options.tag_base = channel.config.tag_base;
    return options;
}

// The calls of one communicator, by ranks on threads.
std::vector<Output> play_on_threads(const Scenario& scenario, uint32_t communicator) {
    std::vector<Output> outputs;
    std::mutex mutex;
    const Channel channel = channel_of(scenario, communicator);
    run_world(options_of(channel), [&](RankMachine& machine) {
        Inputs inputs(channel);
        Player<RankMachine> player(inputs, machine.rank(), machine);
        const std::vector<Operation> operations = all_operations(scenario);
        for (uint32_t i = 0; i < operations.size(); ++i) {
            if (operations[i].communicator != communicator) continue;
            Output output{i, machine.rank(), player.perform(operations[i])};
            const std::lock_guard lock(mutex);
            outputs.push_back(std::move(output));
        }
    });
    return outputs;
}

bool is_same_dispatch(const DispatchResult& a, const DispatchResult& b, bool is_good) {
    if (a.ep_recv_counts != b.ep_recv_counts || a.expert_token_nums != b.expert_token_nums) return false;
    if (!is_good) return true;  // rows of a refused dispatch are nobody's
    const size_t rows = a.outcome.num_rows;
    const size_t trailer = trailer_word(a.capacity_rows);
    return a.expand_x == b.expand_x &&
           std::memcmp(a.assist_info.data(), b.assist_info.data(), rows * kTripleWords * sizeof(int32_t)) == 0 &&
           std::memcmp(a.assist_info.data() + trailer, b.assist_info.data() + trailer, sizeof(AssistTrailer)) == 0;
}

bool is_same(const Played& a, const Played& b) {
    const bool is_good = a.outcome.code == Code::kOk;
    if (std::memcmp(&a.outcome, &b.outcome, sizeof(OperationOutcome)) != 0) return false;
    if (a.has_dispatched != b.has_dispatched || a.has_combined != b.has_combined) return false;
    if (a.has_dispatched) return is_same_dispatch(a.dispatched, b.dispatched, is_good);
    return !a.has_combined || !is_good || a.combined.x == b.combined.x;
}

struct Counts {
    uint32_t scenarios = 0, calls = 0, refused = 0;
};

void compare(uint64_t seed, const SeedOptions& options, Counts* counts) {
    const Scenario scenario = make_scenario(seed, options);
    const SeedResult simulated = run_seed(seed, options, kernel_table("sim"));
    CHECK(simulated.findings.empty());
    std::vector<Output> threads = play_on_threads(scenario, 0);
    if (scenario.second) {
        for (Output& output : play_on_threads(scenario, 1))
            threads.push_back(std::move(output));
    }
    CHECK_EQ(threads.size(), simulated.outputs.size());
    for (const Output& want : threads) {
        for (const Output& got : simulated.outputs) {
            if (got.operation != want.operation || got.rank != want.rank) continue;
            ++counts->calls;
            counts->refused += want.played.outcome.code == Code::kOk ? 0 : 1;
            if (is_same(want.played, got.played)) continue;
            check::fail(__FILE__, __LINE__,
                        "seed " + std::to_string(seed) + " operation " + std::to_string(want.operation) + " rank " +
                            std::to_string(want.rank) + ": the simulator gives something else than threads");
        }
    }
    CHECK(!threads.empty());
    ++counts->scenarios;
}

TEST(the_simulator_gives_what_fast_mode_gives) {
    SeedOptions options;
    options.with_faults = false;
    options.keeps_outputs = true;
    Counts counts;
    for (uint64_t seed = 1; counts.scenarios < kScenarios; ++seed) {
        const Scenario scenario = draw_scenario(seed, false);
        if (scenario.world.limits.num_ranks * scenario.world.num_cores <= kMostCores) compare(seed, options, &counts);
    }
    CHECK(counts.calls >= 1000);
    CHECK(counts.refused >= 100);
}

}  // namespace
}  // namespace ascend_deepep::test
