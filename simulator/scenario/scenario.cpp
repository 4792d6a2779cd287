// SPDX-License-Identifier: Apache-2.0
// Drawing scenarios. Layer: simulator.
#include "simulator/scenario/scenario.h"

#include <algorithm>
#include <numeric>

#include "simulator/scenario/oracle.h"

namespace ascend_deepep::simulator {
namespace {

constexpr uint64_t kScenarioSalt = 0x5C3A91E7D2B60F48ULL;  // a world draws from the bare seed
constexpr uint64_t kTimeoutNs = 200'000'000;               // the slowest worlds need some tens of milliseconds
constexpr uint32_t kManyExperts = 96;                      // of a rank: then a control message has two blocks

uint32_t draw_ranks(sim::Random& random) {
    constexpr uint32_t kRanks[] = {1, 2, 2, 2, 3, 3, 4, 4, 5, 8};
    return random.pick(kRanks);
}

uint32_t draw_cores(sim::Random& random) {
    return random.one_in(24) ? kMaxCores : random.one_in(3) ? kMinCores : random.between(kMinCores, 16);
}

void draw_limits(sim::Random& random, Scenario* s) {
    CommunicatorLimits& limits = s->world.limits;
    limits.num_ranks = draw_ranks(random);
    limits.max_tokens = random.one_in(6) ? 24 : random.between(1, 10);
    limits.hidden = random.between(64 / 16, 512 / 16) * 16;
    const uint32_t local = random.one_in(8) ? kManyExperts : random.between(1, 6);
    limits.num_experts = limits.num_ranks * local;
    limits.num_topk = random.between(1, std::min(8U, limits.num_experts));
    // A call may be smaller than what the communicator was made for.
    const bool is_smaller = random.one_in(4);
    s->hidden = is_smaller ? random.between(64 / 16, limits.hidden / 16) * 16 : limits.hidden;
    s->num_topk = is_smaller ? random.between(1, limits.num_topk) : limits.num_topk;
}

Act draw_act(sim::Random& random, OperationKind kind) {
    if (!random.one_in(5)) return Act::kGood;
    constexpr Act kOfDispatch[] = {Act::kHostRefuses, Act::kBadIds};
    constexpr Act kOfCombine[] = {Act::kHostRefuses, Act::kBadIds, Act::kForeignTag, Act::kForeignTriple,
                                  Act::kOtherCall};
    return kind == OperationKind::kDispatch ? random.pick(kOfDispatch) : random.pick(kOfCombine);
}

void draw_operations(sim::Random& random, Scenario* s) {
    const uint32_t count = random.between(1, 4) + (random.one_in(4) ? 4 : 0);
    uint32_t last_round = 0;  // of the good dispatches so far; 0: none
    for (uint32_t i = 0; i < count; ++i) {
        Operation operation{};
        operation.kind = last_round != 0 && random.one_in(2) ? OperationKind::kCombine : OperationKind::kDispatch;
        operation.act = draw_act(random, operation.kind);
        operation.actor = static_cast<uint32_t>(random.below(s->world.limits.num_ranks));
        operation.round = last_round;
        if (operation.kind == OperationKind::kCombine) {
            operation.round = random.one_in(2) ? random.between(1, last_round) : last_round;
        } else if (operation.act == Act::kGood) {
            operation.round = ++last_round;
        }
        s->operations.push_back(operation);
    }
}

}  // namespace

Scenario draw_scenario(uint64_t seed, bool with_faults, sim::SimFault forced) {
    sim::Random random(seed ^ kScenarioSalt);
    Scenario s;
    draw_limits(random, &s);
    s.world.num_cores = draw_cores(random);
    constexpr uint32_t kDepths[] = {4, 4, 8, 16, 64};
    s.world.queue_depth = random.pick(kDepths);
    s.engine = random.one_in(2) ? CombineEngine::kMte : CombineEngine::kUrma;
    s.is_uneven = random.one_in(3);
    s.has_scales = !random.one_in(4);
    constexpr uint32_t kHoles[] = {0, 0, 2, 5};
    s.hole_one_in = random.pick(kHoles);
    s.is_one_hot = random.one_in(6);
    const uint64_t high = 1 + random.below(0xFFFF);
    const uint64_t low = random.one_in(4) ? 0xFFFFFFFFU - random.below(4) : random.below(8);
    s.world.tag_base = (high << 32) | low;
    s.world.timeout_ns = kTimeoutNs;
    s.seed = seed;
    draw_schedule(seed, &s);
    draw_operations(random, &s);
    const sim::FaultPlan fault =
        sim::draw_fault(random, s.world.limits.num_ranks, s.world.num_cores, kTimeoutNs, forced);
    const bool has_fault = random.one_in(2) || forced != sim::SimFault::kNone;
    if (with_faults && has_fault) s.world.fault = fault;
    return s;
}

void draw_schedule(uint64_t seed, Scenario* scenario) {
    sim::Random random(seed);  // as a world that draws its own
    scenario->world.seed = seed;
    scenario->world.schedule = sim::draw_schedule(random);
}

std::string describe(const Scenario& s) {
    const CommunicatorLimits& l = s.world.limits;
    std::string text = "ranks " + std::to_string(l.num_ranks) + " cores " + std::to_string(s.world.num_cores) +
                       " max tokens " + std::to_string(l.max_tokens) + " hidden " + std::to_string(s.hidden) + "/" +
                       std::to_string(l.hidden) + " top-k " + std::to_string(s.num_topk) + "/" +
                       std::to_string(l.num_topk) + " experts " + std::to_string(l.num_experts) + " depth " +
                       std::to_string(s.world.queue_depth) + (s.engine == CombineEngine::kMte ? " mte" : " urma") +
                       (s.is_uneven ? " uneven" : "") + (s.is_one_hot ? " one-hot" : "");
    for (const Operation& operation : s.operations) {
        text += operation.kind == OperationKind::kDispatch ? " D" : " C";
        if (operation.act == Act::kGood) continue;
        text += "(act " + std::to_string(static_cast<uint32_t>(operation.act)) + " of rank " +
                std::to_string(operation.actor) + ")";
    }
    const sim::FaultPlan& fault = s.world.fault;
    if (fault.kind == sim::SimFault::kNone) return text;
    return text + " fault " + std::string(sim::sim_fault_name(fault.kind)) + " rank " + std::to_string(fault.rank) +
           " peer " + std::to_string(fault.peer) + " core " + std::to_string(fault.core) + " at " +
           std::to_string(fault.at) + " ns " + std::to_string(fault.ns) + (fault.is_silent ? " silent" : "");
}

Batch make_batch(const Scenario& s, uint32_t rank, uint32_t round) {
    sim::Random random(s.seed * 0x9E3779B97F4A7C15ULL + rank * 64 + round);
    const CommunicatorLimits& limits = s.world.limits;
    Batch batch;
    batch.max_tokens = limits.max_tokens;
    batch.num_tokens = s.is_uneven ? static_cast<uint32_t>(random.below(limits.max_tokens + 1)) : limits.max_tokens;
    batch.hidden = s.hidden;
    batch.num_topk = s.num_topk;
    std::vector<int32_t> experts(limits.num_experts);
    std::iota(experts.begin(), experts.end(), 0);
    for (uint32_t token = 0; token < batch.num_tokens; ++token) {
        for (uint32_t column = 0; column < s.num_topk; ++column) {
            const uint32_t other = random.between(column, limits.num_experts - 1);
            if (!s.is_one_hot) std::swap(experts[column], experts[other]);
            const bool is_hole = s.hole_one_in != 0 && random.one_in(s.hole_one_in);
            batch.expert_ids.push_back(is_hole ? -1 : experts[column]);
            if (s.has_scales) batch.scales.push_back(static_cast<float>(random.below(1000)) / 997.0F);
        }
        for (uint32_t h = 0; h < s.hidden; ++h)
            batch.x.push_back(bf16_bits(static_cast<float>(random.below(4096)) / 64.0F - 32.0F));
    }
    return batch;
}

}  // namespace ascend_deepep::simulator
