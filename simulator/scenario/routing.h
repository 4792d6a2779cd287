// SPDX-License-Identifier: Apache-2.0
// How tokens choose their experts. Layer: simulator.
#pragma once

#include <cstdint>
#include <vector>

#include "twin/sim/random.h"

namespace ascend_deepep::simulator {

enum class Routing : uint32_t {
    kUniform,  // all choices alike
    kGate,     // by the gate of DeepSeek-V3: scores with a small bias, the experts of the best half of eight groups
    kSkewed,   // a Zipf law over the experts, shuffled: few get most of the rows
    kCount
};
constexpr const char* kRoutingNames[] = {"uniform", "gate", "skewed"};
static_assert(sizeof(kRoutingNames) / sizeof(kRoutingNames[0]) == static_cast<uint32_t>(Routing::kCount));

// The routing of a communicator: biases and odds are the same for all its ranks and rounds.
class Router {
  public:
    // `routing` is not uniform.
    Router(Routing routing, uint64_t seed, uint32_t num_experts, uint32_t num_topk);

    // Different experts of a token.
    std::vector<int32_t> choose(sim::Random& random) const;

  private:
    std::vector<int32_t> gated(sim::Random& random) const;
    std::vector<int32_t> skewed(sim::Random& random) const;

    Routing routing_;
    uint32_t num_topk_;
    uint32_t num_groups_;            // of the gate; 1 where experts do not divide, or half of the groups are too few
    std::vector<uint64_t> weights_;  // by expert: bias of its score, or odds
};

}  // namespace ascend_deepep::simulator
