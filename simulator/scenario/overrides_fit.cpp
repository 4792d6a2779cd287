// SPDX-License-Identifier: Apache-2.0
// What follows from settings: fields that nobody set are made to fit those that somebody set, so that `ranks=2` means
// something in every world. What was set stays as it is, and is refused where it cannot be. Layer: simulator.
#include <algorithm>

#include "simulator/scenario/inputs.h"
#include "simulator/scenario/overrides.h"

namespace ascend_deepep::simulator {
namespace {

class Fit {
  public:
    Fit(const Settings& settings, Scenario* scenario) : settings_(settings), s_(*scenario) {}

    // `local`: experts of a rank, as drawn.
    void shape(uint32_t local) {
        CommunicatorLimits& limits = s_.world.limits;
        if (is_free("experts")) limits.num_experts = local * limits.num_ranks;
        if (is_free("max_hidden")) limits.hidden = std::max(limits.hidden, s_.hidden);
        if (is_free("hidden")) s_.hidden = std::min(limits.hidden, s_.hidden);
        if (is_free("max_topk") && !is_free("topk")) limits.num_topk = std::max(limits.num_topk, s_.num_topk);
        if (is_free("max_topk")) limits.num_topk = std::min(limits.num_topk, limits.num_experts);
        if (is_free("topk")) s_.num_topk = std::min(limits.num_topk, s_.num_topk);
    }

    void actors() {
        const uint32_t num_ranks = std::max(1U, s_.world.limits.num_ranks);
        if (is_free("operations")) {
            for (Operation& operation : s_.operations)
                operation.actor %= num_ranks;
        }
        sim::FaultPlan& fault = s_.world.fault;
        const bool needs_peer = fault.kind != sim::SimFault::kRankDies && fault.kind != sim::SimFault::kCoreStalls;
        if (is_free("fault") && num_ranks == 1 && needs_peer) fault.kind = sim::SimFault::kNone;
        if (!is_free("fault_at") && is_free("fault_permille")) fault.at_permille = 0;
        if (is_free("fault_rank")) fault.rank %= num_ranks;
        if (is_free("fault_peer")) fault.peer %= num_ranks;
        if (is_free("fault_peer") && fault.peer == fault.rank) fault.peer = (fault.rank + 1) % num_ranks;
        if (is_free("fault_core")) fault.core %= std::max(1U, s_.world.num_cores);
    }

    void schedule() {
        uint64_t& block_ns = s_.world.schedule->block_ns;
        if (is_free("block_ns")) block_ns = std::min(block_ns, most_block_ns(s_));
    }

  private:
    bool is_free(const char* name) const {
        return std::none_of(settings_.begin(), settings_.end(), [name](const auto& set) { return set.first == name; });
    }

    const Settings& settings_;
    Scenario& s_;
};

}  // namespace

void fit_scenario(const Settings& settings, const Scenario& drawn, Scenario* scenario) {
    if (settings.empty()) return;
    Fit fit(settings, scenario);
    fit.shape(drawn.world.limits.num_experts / drawn.world.limits.num_ranks);
    fit.actors();
    fit.schedule();
}

}  // namespace ascend_deepep::simulator
