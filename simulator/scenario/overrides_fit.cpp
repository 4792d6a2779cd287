// SPDX-License-Identifier: Apache-2.0
// What follows from settings: fields that nobody set are made to fit those that somebody set, so that `ranks=2` means
// something in every world. What was set stays as it is, and is refused where it cannot be. Layer: simulator.
#include <algorithm>

#include "simulator/scenario/feature_rules.h"
#include "simulator/scenario/inputs.h"
#include "simulator/scenario/overrides.h"

namespace ascend_deepep::simulator {
namespace {

class Fit {
  public:
    Fit(const Settings& settings, const Scenario& drawn, Scenario* scenario)
        : settings_(settings), drawn_(drawn), s_(*scenario) {}

    // Features that exclude each other: what somebody set wins.
    void features() {
        Features& f = s_.features;
        if (is_free("uneven") && f.mask != MaskKind::kNone) s_.is_uneven = false;
        if (is_free("mask") && s_.is_uneven) f.mask = MaskKind::kNone;
        if (is_free("masked_one_in")) s_.masked_one_in = std::max(s_.masked_one_in, 1U);
        const bool is_shared_free = is_free("shared") && is_free("shared_ranks");
        if (!is_free("shared_x") && f.has_shared_x && is_shared_free) f.shared_experts = f.shared_ranks = 0;
        shared_ranks();
        const uint32_t holders = s_.world.limits.num_ranks - f.shared_ranks;
        if (!is_free("experts") && is_shared_free && s_.num_experts % holders != 0)
            f.shared_experts = f.shared_ranks = 0;
        if (is_free("shared_x") && f.shared_ranks != 0) f.has_shared_x = false;
        if (is_free("dtype") && f.quant != Quant::kNone && is_one_byte(f.dtype)) f.dtype = Dtype::kBf16;
        if (is_free("quant") && is_one_byte(f.dtype)) f.quant = Quant::kNone;
        if (is_free("quant_scales") && !has_legal_scales(f)) f.scales = first_legal_scales(f);
        sums_by_rank();
    }

    void shape() {
        CommunicatorLimits& limits = s_.world.limits;
        const uint32_t moe_ranks = limits.num_ranks - std::min(s_.features.shared_ranks, limits.num_ranks - 1);
        if (is_free("experts")) s_.num_experts = experts_per_rank(drawn_.world.limits, drawn_) * moe_ranks;
        if (is_free("max_experts")) {
            const uint32_t most = drawn_.world.limits.num_experts / drawn_.world.limits.num_ranks;
            limits.num_experts = std::max(most * limits.num_ranks, s_.num_experts);
            limits.num_experts = static_cast<uint32_t>(align_up(limits.num_experts, limits.num_ranks));
        }
        const bool was_full = drawn_.num_tokens == drawn_.world.limits.max_tokens;
        if (is_free("max_tokens")) limits.max_tokens = std::max(limits.max_tokens, s_.num_tokens);
        if (is_free("tokens"))
            s_.num_tokens = was_full ? limits.max_tokens : std::min(limits.max_tokens, s_.num_tokens);
        if (is_free("max_hidden")) limits.hidden = std::max(limits.hidden, s_.hidden);
        if (is_free("hidden")) s_.hidden = std::min(limits.hidden, s_.hidden);
        uint32_t& columns = s_.features.scale_columns;
        if (is_free("scale_columns")) columns = std::max(1U, std::min(columns, most_scale_columns(s_)));
        if (is_free("max_topk") && !is_free("topk")) limits.num_topk = std::max(limits.num_topk, s_.num_topk);
        if (is_free("max_topk")) limits.num_topk = std::min(limits.num_topk, limits.num_experts);
        if (is_free("topk")) s_.num_topk = std::min({limits.num_topk, s_.num_topk, s_.num_experts});
        const uint32_t shared = std::max(limits.shared_expert_num, s_.features.shared_experts);
        if (is_free("max_shared")) limits.shared_expert_num = shared;
        if (is_free("room_per_expert") && has_copies_per_expert(s_.features)) limits.per_expert_copies = 1;
    }

    // A world that sums by rank has weights of dispatch where combine has some, and neither copies per expert nor int8.
    void sums_by_rank() {
        Features& f = s_.features;
        if (!is_free("combine_by_rank") && f.sums_by_rank && is_free("quant_scales") &&
            f.scales == ScalesKind::kPerExpert)
            f.scales = first_legal_scales(f);
        if (is_free("combine_by_rank") && !goes_by_rank(f, s_.has_scales)) f.sums_by_rank = false;
        if (f.sums_by_rank && is_free("combine_int8")) f.is_int8 = false;
        if (f.sums_by_rank && is_free("copies")) f.copies = CopyMode::kPerRank;
        if (f.sums_by_rank && is_free("weights")) f.has_weights = f.has_weights || s_.has_scales;
        s_.world.limits.combine_reduce = f.sums_by_rank ? 1 : 0;
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
    void shared_ranks() {
        Features& f = s_.features;
        const uint32_t others = s_.world.limits.num_ranks - 1;
        if (is_free("shared_ranks")) {
            const uint32_t unit = std::max(1U, f.shared_experts);
            const uint32_t most = std::min(f.shared_ranks, others) / unit * unit;
            f.shared_ranks = f.shared_experts == 0 ? 0 : std::max(most, others < unit ? 0 : unit);
        }
        if (!is_free("shared")) return;
        if (f.shared_ranks == 0) f.shared_experts = 0;
        if (f.shared_ranks != 0 && (f.shared_experts == 0 || f.shared_ranks % f.shared_experts != 0))
            f.shared_experts = 1;
    }

    bool is_free(const char* name) const {
        return std::none_of(settings_.begin(), settings_.end(), [name](const auto& set) { return set.first == name; });
    }

    const Settings& settings_;
    const Scenario& drawn_;
    Scenario& s_;
};

}  // namespace

void fit_scenario(const Settings& settings, const Scenario& drawn, Scenario* scenario) {
    if (settings.empty()) return;
    Fit fit(settings, drawn, scenario);
    fit.features();
    fit.shape();
    fit.actors();
    fit.schedule();
}

}  // namespace ascend_deepep::simulator
