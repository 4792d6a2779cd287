// SPDX-License-Identifier: Apache-2.0
// Drawing scenarios. Layer: simulator.
#include "simulator/scenario/scenario.h"

#include <algorithm>
#include <utility>

#include "contract/arch35/cqe.h"
#include "contract/arch35/wqe.h"
#include "contract/limits.h"
#include "simulator/scenario/draw_features.h"
#include "simulator/scenario/draw_timed.h"

namespace ascend_deepep::simulator {
namespace {

constexpr uint64_t kScenarioSalt = 0x5C3A91E7D2B60F48ULL;  // a world draws from the bare seed
constexpr uint64_t kQueueSalt = 0x2D9F6B17C84E503AULL;     // numbers of queues have draws of their own
constexpr uint64_t kTimeoutNs = 200'000'000;               // the slowest worlds need some tens of milliseconds
constexpr uint32_t kMostHidden = 512;
constexpr uint32_t kManyExperts = 96;  // of a rank: then a control message has two blocks
constexpr uint64_t kSecondFeatures = uint64_t{1} << 40;
constexpr uint64_t kSecondTags = uint64_t{0x10000} << 32;  // far from those of the first communicator

uint32_t draw_ranks(sim::Random& random) {
    constexpr uint32_t kRanks[] = {1, 2, 2, 2, 3, 3, 4, 4, 5, 8};
    return random.pick(kRanks);
}

uint32_t draw_cores(sim::Random& random) {
    return random.one_in(24) ? kMaxCores : random.one_in(3) ? kMinCores : random.between(kMinCores, 16);
}

// Of a communicator of limits.num_ranks ranks.
void draw_limits(sim::Random& random, CommunicatorLimits* limits, CallShape* shape) {
    limits->max_tokens = random.one_in(6) ? 24 : random.between(1, 10);
    limits->hidden = random.between(kMinHidden / kHiddenMultiple, kMostHidden / kHiddenMultiple) * kHiddenMultiple;
    const uint32_t local = random.one_in(8) ? kManyExperts : random.between(1, 6);
    limits->num_experts = limits->num_ranks * local;
    limits->num_topk = random.between(1, std::min(8U, limits->num_experts));
    // A call may be smaller than what the communicator was made for.
    const bool is_smaller = random.one_in(4);
    shape->num_tokens = limits->max_tokens;
    shape->num_experts = limits->num_experts;
    shape->hidden = limits->hidden;
    if (is_smaller) {
        shape->hidden =
            random.between(kMinHidden / kHiddenMultiple, limits->hidden / kHiddenMultiple) * kHiddenMultiple;
    }
    shape->num_topk = is_smaller ? random.between(1, limits->num_topk) : limits->num_topk;
}

void draw_shape(sim::Random& random, CallShape* shape) {
    shape->engine = random.one_in(2) ? CombineEngine::kMte : CombineEngine::kUrma;
    shape->is_uneven = random.one_in(3);
    shape->has_scales = !random.one_in(4);
    constexpr uint32_t kHoles[] = {0, 0, 2, 5};
    shape->hole_one_in = random.pick(kHoles);
    shape->is_one_hot = random.one_in(6);
}

// In one of four communicators the low word of the tag wraps within a few operations.
uint64_t draw_tag_base(sim::Random& random) {
    const uint64_t high = 1 + random.below(0xFFFF);
    const uint64_t low = random.one_in(4) ? 0xFFFFFFFFU - random.below(4) : random.below(8);
    return (high << 32) | low;
}

Act draw_act(sim::Random& random, OperationKind kind) {
    if (!random.one_in(5)) return Act::kGood;
    constexpr Act kOfDispatch[] = {Act::kHostRefuses, Act::kBadIds};
    constexpr Act kOfCombine[] = {Act::kHostRefuses, Act::kBadIds, Act::kForeignTag, Act::kForeignTriple,
                                  Act::kOtherCall};
    return kind == OperationKind::kDispatch ? random.pick(kOfDispatch) : random.pick(kOfCombine);
}

std::vector<Operation> draw_operations(sim::Random& random, uint32_t num_ranks, uint32_t count) {
    std::vector<Operation> operations;
    uint32_t last_round = 0;  // of the good dispatches so far; 0: none
    for (uint32_t i = 0; i < count; ++i) {
        Operation operation{};
        operation.kind = last_round != 0 && random.one_in(2) ? OperationKind::kCombine : OperationKind::kDispatch;
        operation.act = draw_act(random, operation.kind);
        operation.actor = static_cast<uint32_t>(random.below(num_ranks));
        operation.round = last_round;
        if (operation.kind == OperationKind::kCombine) {
            operation.round = random.one_in(2) ? random.between(1, last_round) : last_round;
        } else if (operation.act == Act::kGood) {
            operation.round = ++last_round;
        }
        operations.push_back(operation);
    }
    return operations;
}

// Large rings cost memory by the square of the ranks. Queues have counted anything, up to right before an index wraps:
// that of the SQ doorbell (32 bits), that of the CQ doorbell (24), and the owner bit.
void draw_queues(sim::Random& random, sim::CommunicatorConfig* config) {
    constexpr uint32_t kDepths[] = {4, 4, 8, 16, 64};
    constexpr uint32_t kLargerDepths[] = {32, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768};
    config->queue_depth = random.pick(kDepths);
    const uint32_t larger = random.pick(kLargerDepths);
    const bool is_larger = random.one_in(3) && (config->limits.num_ranks <= 3 || larger <= 1024);
    if (is_larger) config->queue_depth = larger;
    const uint32_t twice = random.one_in(3) ? random.between(0, 2) : 0;
    config->cq_depth = std::min(config->queue_depth << twice, kMaxQueueDepth);
    constexpr uint64_t kEdges[] = {uint64_t{1} << 32, uint64_t{1} << 24, uint64_t{1} << 31};
    const uint64_t edge = random.one_in(3) ? uint64_t{config->queue_depth} * random.between(1, 9) : random.pick(kEdges);
    const uint64_t before = random.below(12);
    config->first_index = random.one_in(2) ? 0 : static_cast<uint32_t>(edge - std::min(before, edge));
}

// One queue a peer in half of the communicators, two to four in the others; cores split by the model in half of them.
void draw_cores_and_queues(uint64_t seed, sim::CommunicatorConfig* config, CallShape* shape) {
    sim::Random random(seed ^ kQueueSalt);
    config->queues_per_peer = random.one_in(2) ? 1 : random.between(2, kMaxQueuesPerPeer);
    shape->has_drawn_roles = random.one_in(2);
}

void draw_second(sim::Random& random, Scenario* s) {
    SecondCommunicator second;
    second.config.limits.num_ranks = s->world.limits.num_ranks;
    draw_limits(random, &second.config.limits, &second.shape);
    draw_shape(random, &second.shape);
    draw_queues(random, &second.config);
    second.config.tag_base = draw_tag_base(random) + kSecondTags;
    second.operations = draw_operations(random, s->world.limits.num_ranks, random.between(1, 3));
    const auto places = static_cast<uint32_t>(s->operations.size());
    for (size_t i = 0; i < second.operations.size(); ++i)
        second.before.push_back(random.between(second.before.empty() ? 0 : second.before.back(), places));
    s->second = std::move(second);
}

// Rows of a refused combine may be under way when the next one's leave (I7). That shows where many rows of one size
// take the same slots in turn; features would thin them out.
bool has_combine_after_a_refused_one(const std::vector<Operation>& operations) {
    const auto is_combine = [](const Operation& operation) { return operation.kind == OperationKind::kCombine; };
    return std::adjacent_find(operations.begin(), operations.end(), [&](const Operation& a, const Operation& b) {
               return is_combine(a) && a.act != Act::kGood && is_combine(b);
           }) != operations.end();
}

std::string describe_routing(const CallShape& shape) {
    if (shape.routing == Routing::kUniform) return "";
    std::string text(1, ' ');
    text += kRoutingNames[static_cast<uint32_t>(shape.routing)];
    return text;
}

std::string describe_channel(const Channel& channel) {
    const CommunicatorLimits& l = channel.config.limits;
    const CallShape& shape = channel.shape;
    return "tokens " + std::to_string(shape.num_tokens) + "/" + std::to_string(l.max_tokens) + " hidden " +
           std::to_string(shape.hidden) + "/" + std::to_string(l.hidden) + " top-k " + std::to_string(shape.num_topk) +
           "/" + std::to_string(l.num_topk) + " experts " + std::to_string(shape.num_experts) + "/" +
           std::to_string(l.num_experts) + " depth " + std::to_string(channel.config.queue_depth) + "/" +
           std::to_string(channel.config.cq_depth) + " queues " + std::to_string(channel.config.queues_per_peer) +
           " from " + std::to_string(channel.config.first_index) +
           (shape.engine == CombineEngine::kMte ? " mte" : " urma") + (shape.has_drawn_roles ? " roles" : "") +
           (shape.is_uneven ? " uneven" : "") + (shape.is_one_hot ? " one-hot" : "") + describe_routing(shape) +
           describe_features(shape);
}

std::string describe_operation(const Operation& operation) {
    std::string text = operation.kind == OperationKind::kDispatch ? " D" : " C";
    if (operation.communicator != 0) text += "'";
    if (operation.act == Act::kGood) return text;
    return text + "(act " + std::to_string(static_cast<uint32_t>(operation.act)) + " of rank " +
           std::to_string(operation.actor) + ")";
}

void name_condition(bool holds, const std::string& name, std::vector<std::string>* names) {
    if (holds) names->push_back(name);
}

Scenario draw_any(uint64_t seed, bool with_faults, sim::SimFault forced) {
    sim::Random random(seed ^ kScenarioSalt);
    Scenario s;
    const bool is_kill_lane = forced == sim::SimFault::kRankDies;
    s.world.limits.num_ranks = std::max(draw_ranks(random), is_kill_lane ? 2U : 1U);
    draw_limits(random, &s.world.limits, &s);
    s.world.num_cores = draw_cores(random);
    draw_shape(random, &s);
    draw_queues(random, &s.world);
    s.world.tag_base = draw_tag_base(random);
    s.world.timeout_ns = kTimeoutNs;
    s.seed = seed;
    draw_schedule(seed, &s);
    s.operations = draw_operations(random, s.world.limits.num_ranks, random.between(1, 4) + (random.one_in(4) ? 4 : 0));
    if (random.one_in(3)) draw_second(random, &s);
    draw_cores_and_queues(seed, &s.world, &s);
    if (s.second) draw_cores_and_queues(seed + kSecondFeatures, &s.second->config, &s.second->shape);
    const sim::FaultPlan fault =
        sim::draw_fault(random, s.world.limits.num_ranks, s.world.num_cores, kTimeoutNs, forced);
    const bool has_fault = random.one_in(2) || forced != sim::SimFault::kNone;
    if (with_faults && has_fault) s.world.fault = fault;
    s.has_survivors = random.one_in(2) || is_kill_lane;
    s.uses_memory_again = random.one_in(2);
    if (has_combine_after_a_refused_one(s.operations)) return s;
    draw_features(seed, &s.world.limits, &s);
    if (s.second) draw_features(seed + kSecondFeatures, &s.second->config.limits, &s.second->shape);
    return s;
}

}  // namespace

Scenario draw_scenario(uint64_t seed, bool with_faults, sim::SimFault forced) {
    Scenario s = draw_any(seed, with_faults, forced);
    draw_timed(seed, &s);
    return s;
}

void draw_schedule(uint64_t seed, Scenario* scenario) {
    sim::Random random(seed);  // as a world that draws its own
    scenario->world.seed = seed;
    scenario->world.schedule = sim::draw_schedule(seed, random);
}

std::vector<Operation> all_operations(const Scenario& s) {
    if (!s.second) return s.operations;
    std::vector<Operation> all;
    size_t next = 0;
    for (size_t i = 0; i <= s.operations.size(); ++i) {
        for (; next < s.second->operations.size(); ++next) {
            const bool is_placed = next < s.second->before.size();
            if (i < s.operations.size() && (!is_placed || s.second->before[next] > i)) break;
            all.push_back(s.second->operations[next]);
            all.back().communicator = 1;
        }
        if (i < s.operations.size()) all.push_back(s.operations[i]);
    }
    return all;
}

void fit_communicators(Scenario* s) {
    s->world.cq_depth = std::max(s->world.cq_depth, s->world.queue_depth);
    if (!s->second) return;
    CommunicatorLimits& limits = s->second->config.limits;
    fit_ranks(s->world.limits.num_ranks, &limits, &s->second->shape);
    for (Operation& operation : s->second->operations)
        operation.actor %= limits.num_ranks;
}

Channel channel_of(const Scenario& s, uint32_t number) {
    Channel channel;
    channel.number = number;
    channel.num_cores = s.world.num_cores;
    channel.timeout_ns = s.world.timeout_ns;
    channel.seed = s.seed + (uint64_t{number} << 32);
    if (number == 0) {
        channel.config = s.world;
        channel.shape = s;
    } else if (s.second) {
        channel.config = s.second->config;
        channel.shape = s.second->shape;
    }
    return channel;
}

std::vector<std::string> conditions_of(const Scenario& s) {
    std::vector<std::string> names;
    bool has_tag_wrap = false, has_index_wrap = false, has_cq_index_wrap = false;
    for (uint32_t number = 0; number < (s.second ? 2U : 1U); ++number) {
        const sim::CommunicatorConfig config = channel_of(s, number).config;
        const size_t calls = number == 0 ? s.operations.size() : s.second->operations.size();
        has_tag_wrap |= (config.tag_base & 0xFFFFFFFFU) + calls > 0xFFFFFFFFU;
        has_index_wrap |= config.first_index > 0xFFFFFF00U;
        has_cq_index_wrap |= (config.first_index & kCqDoorbellMask) > 0xFFFF00U;
        for (uint32_t depth : {config.queue_depth, config.cq_depth}) {
            const std::string name = "ring-" + std::to_string(depth);
            name_condition(std::find(names.begin(), names.end(), name) == names.end(), name, &names);
        }
    }
    name_condition(true, "queues-" + std::to_string(s.world.queues_per_peer), &names);
    name_condition(s.has_drawn_roles, "drawn-roles", &names);
    name_condition(has_tag_wrap, "tag-wrap", &names);
    name_condition(has_index_wrap, "index-wrap", &names);
    name_condition(has_cq_index_wrap, "cq-index-wrap", &names);
    name_condition(s.second.has_value(), "two-communicators", &names);
    name_condition(s.world.schedule->block_ns != 0, "limited-links", &names);
    name_condition(true, "evictions-" + std::string(sim::evictions_name(s.world.schedule->evictions)), &names);
    return names;
}

std::vector<std::string> features_of(const Scenario& s) {
    std::vector<std::string> names;
    for (uint32_t number = 0; number < (s.second ? 2U : 1U); ++number) {
        const Channel channel = channel_of(s, number);
        const std::vector<Operation>& calls = number == 0 ? s.operations : s.second->operations;
        const bool has_combine = std::any_of(calls.begin(), calls.end(), [](const Operation& operation) {
            return operation.kind == OperationKind::kCombine && operation.act == Act::kGood;
        });
        for (const std::string& name : features_of(channel.config.limits, channel.shape, has_combine))
            name_condition(std::find(names.begin(), names.end(), name) == names.end(), name, &names);
    }
    return names;
}

std::string describe(const Scenario& s) {
    std::string text = "ranks " + std::to_string(s.world.limits.num_ranks) + " cores " +
                       std::to_string(s.world.num_cores) + " " + describe_channel(channel_of(s, 0));
    if (s.second) text += "; second: " + describe_channel(channel_of(s, 1)) + ";";
    for (const Operation& operation : all_operations(s))
        text += describe_operation(operation);
    if (s.has_survivors) text += s.uses_memory_again ? " survivors in old memory" : " survivors";
    const sim::FaultPlan& fault = s.world.fault;
    if (fault.kind == sim::SimFault::kNone) return text;
    return text + " fault " + std::string(sim::sim_fault_name(fault.kind)) + " rank " + std::to_string(fault.rank) +
           " peer " + std::to_string(fault.peer) + " core " + std::to_string(fault.core) + " at " +
           (fault.at_permille == 0 ? std::to_string(fault.at) : std::to_string(fault.at_permille) + "/1000") + " ns " +
           std::to_string(fault.ns) + (fault.is_silent ? " silent" : "");
}

}  // namespace ascend_deepep::simulator
