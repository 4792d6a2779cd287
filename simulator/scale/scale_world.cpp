// SPDX-License-Identifier: Apache-2.0
// Layer: simulator.
#include "simulator/scale/scale_world.h"

#include <stdexcept>

#include "op_host/check.h"
#include "op_host/sizes.h"
#include "simulator/scale/scale_layout.h"
#include "simulator/scenario/inputs.h"
#include "simulator/scenario/oracle.h"
#include "simulator/scenario/values.h"

namespace ascend_deepep::simulator {
namespace {

constexpr uint32_t kMostRanks = 256;
constexpr uint64_t kMostCoresOfAll = 6144;                // a core has 0.4 MiB of stack and UB
constexpr uint64_t kMostWindowBytes = uint64_t{4} << 30;  // of all ranks; each byte has a shadow besides
constexpr uint32_t kMostRounds = 16;
constexpr uint64_t kTimeoutNs = 1'000'000'000'000;  // no wait of such a world is to end by it
constexpr uint64_t kTagBase = uint64_t{7} << 32;
constexpr uint32_t kDepth = 64;
constexpr uint64_t kMostHandicapNs = 1'000'000'000;
constexpr uint64_t kMostTimes = 1000;

sim::Schedule schedule_of(const sim::Costs& costs) {
    sim::Schedule schedule = sim::kOrderly;
    schedule.delivery_ns = costs.delivery_ns;
    schedule.wqe_ns = costs.wqe_ns;
    schedule.completion_ns = costs.completion_ns;
    return schedule;
}

void check_costs(const sim::Costs& costs) {
    constexpr uint64_t kMostNs = 1'000'000;
    const sim::Costs defaults;
    for (const sim::Cost& cost : sim::kCosts)  // what may cost nothing does so by default
        check_within(std::string(cost.name), costs.*cost.field, defaults.*cost.field == 0 ? 0 : 1, kMostNs);
}

void check_handicap(const ScaleOptions& options) {
    const sim::Handicap& handicap = options.handicap;
    if (handicap.kind == sim::Handicap::Kind::kNone) return;
    check_within("rank of the slow part", handicap.rank, 0, options.num_ranks - 1);
    check_within("peer of the slow link", handicap.peer, 0, options.num_ranks - 1);
    check_within("slow core", handicap.core, 0, options.num_cores - 1);
    check_within("ns of the slow part", handicap.ns, 0, kMostHandicapNs);
    check_within("times of the slow link", handicap.times, 1, kMostTimes);
}

Scenario scenario_of(const ScaleOptions& options) {
    Scenario s;
    s.world.limits = {options.num_ranks, options.num_tokens, options.hidden, options.num_topk, options.num_experts, 0};
    const op_host::Status status = op_host::check_limits(s.world.limits, options.num_cores, 0);
    if (!status.ok()) throw std::invalid_argument(status.message);
    check_within("ranks of a large world", options.num_ranks, 2, kMostRanks);
    check_within("ranks x cores", uint64_t{options.num_ranks} * options.num_cores, 1, kMostCoresOfAll);
    const uint64_t bytes = op_host::required_window_bytes(s.world.limits) * options.num_ranks;
    check_within("bytes of all windows", bytes, 1, kMostWindowBytes, "lower ranks, tokens or hidden");
    check_within("rounds", options.num_rounds, 1, kMostRounds);
    check_costs(options.costs);
    check_handicap(options);
    s.world.num_cores = options.num_cores;
    s.world.queue_depth = kDepth;
    s.world.tag_base = kTagBase;
    s.world.timeout_ns = kTimeoutNs;
    s.world.schedule = schedule_of(options.costs);
    s.world.handicap = options.handicap;
    s.seed = options.seed;
    s.routing = options.routing;
    s.features.has_performance = s.has_zeroed_performance = options.has_calls;
    s.engine = options.engine;
    s.num_tokens = options.num_tokens;
    s.hidden = options.hidden;
    s.num_topk = options.num_topk;
    s.num_experts = options.num_experts;
    for (uint32_t round = 1; round <= options.num_rounds; ++round) {
        s.operations.push_back({OperationKind::kDispatch, Act::kGood, 0, round});
        s.operations.push_back({OperationKind::kCombine, Act::kGood, 0, round});
    }
    fit_communicators(&s);
    return s;
}

std::vector<uint64_t> count_remote_copies(const Scenario& scenario, uint32_t num_rounds) {
    const auto num_ranks = static_cast<int>(scenario.world.limits.num_ranks);
    std::vector<uint64_t> copies(scenario.world.limits.num_ranks, 0);
    Inputs inputs(channel_of(scenario, 0));
    for (uint32_t round = 1; round <= num_rounds; ++round) {
        for (const Batch& batch : inputs.round(round)) {
            for (int peer = 0; peer < num_ranks; ++peer) {
                if (peer == static_cast<int>(batch.rank)) continue;
                copies[batch.rank] += expected_copies(batch, num_ranks, static_cast<int>(batch.num_experts), peer);
            }
        }
    }
    return copies;
}

}  // namespace

ScaleResult run_scale(const ScaleOptions& options, const twin::KernelTable& kernels) {
    ScaleResult result;
    Scenario scenario = scenario_of(options);
    scenario.world.meter = &result.meter;
    scenario.world.costs = &options.costs;
    scenario.world.timeline = options.timeline;
    result.limits = scenario.world.limits;
    const ScaleLayout layout = scale_layout(scenario.world.limits, options.num_cores, options.engine);
    result.dispatch_roles = layout.dispatch_roles;
    result.combine_roles = layout.combine_roles;
    result.remote_copies = count_remote_copies(scenario, options.num_rounds);
    result.run = options.has_calls ? record_scenario(scenario, kernels) : run_scenario(scenario, "", kernels);
    return result;
}

}  // namespace ascend_deepep::simulator
