// SPDX-License-Identifier: Apache-2.0
// Layer: simulator.
#include "simulator/search/tiny_world.h"

#include <stdexcept>

#include "simulator/scenario/inputs.h"
#include "simulator/search/search.h"

namespace ascend_deepep::simulator {
namespace {

constexpr uint32_t kRanks = 2;
constexpr uint32_t kMostTokens = 2;
constexpr uint64_t kTimeoutNs = 200'000'000;  // far behind all that can happen
constexpr uint64_t kTagBase = uint64_t{7} << 32;
constexpr uint32_t kDepth = 4;

}  // namespace

const std::vector<std::string>& search_worlds() {
    static const std::vector<std::string> names{"dispatch", "dispatch-twice", "combine-mte", "combine-urma"};
    return names;
}

// Every token goes to the experts of both ranks: each rank has a row of its own and one of its peer, per token.
Scenario tiny_world(const std::string& name, uint32_t num_tokens) {
    if (num_tokens == 0 || num_tokens > kMostTokens) throw std::invalid_argument("a tiny world has 1 or 2 tokens");
    Scenario scenario;
    scenario.world.limits = {kRanks, num_tokens, kMinHidden, kRanks, kRanks, 0};
    scenario.world.num_cores = kMinCores;
    scenario.world.queue_depth = kDepth;
    scenario.world.tag_base = kTagBase;
    scenario.world.timeout_ns = kTimeoutNs;
    scenario.world.schedule = sim::kOrderly;
    scenario.num_tokens = num_tokens;
    scenario.num_experts = kRanks;
    scenario.hidden = kMinHidden;
    scenario.num_topk = kRanks;
    scenario.operations.push_back({OperationKind::kDispatch, Act::kGood, 0, 1});
    if (name == "combine-mte" || name == "combine-urma") {
        scenario.engine = name == "combine-mte" ? CombineEngine::kMte : CombineEngine::kUrma;
        scenario.operations.push_back({OperationKind::kCombine, Act::kGood, 0, 1});
    } else if (name == "dispatch-twice") {
        scenario.operations.push_back({OperationKind::kDispatch, Act::kGood, 0, 2});
    } else if (name != "dispatch") {
        std::string known;
        for (const std::string& world : search_worlds())
            known += (known.empty() ? "" : ", ") + world;
        throw std::invalid_argument("there is no world '" + name + "' to search: " + known);
    }
    fit_communicators(&scenario);
    scenario.world.num_items = num_items(scenario);
    return scenario;
}

}  // namespace ascend_deepep::simulator
