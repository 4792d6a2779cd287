// SPDX-License-Identifier: Apache-2.0
// Layer: simulator.
#include "simulator/scenario/draw_timed.h"

#include <algorithm>
#include <iterator>

#include "simulator/scenario/draw_features.h"

namespace ascend_deepep::simulator {
namespace {

constexpr uint32_t kMostDepth = 1024;  // rings cost memory by the square of the ranks

void fit_fault(uint32_t num_ranks, sim::FaultPlan* fault) {
    fault->rank %= num_ranks;
    fault->peer %= num_ranks;
    if (fault->peer == fault->rank) fault->peer = (fault->rank + 1) % num_ranks;
}

}  // namespace

void draw_timed(uint64_t seed, Scenario* s) {
    if (seed < kFirstTimed || (seed - kFirstTimed) % kTimedOneIn != 0) return;
    uint64_t kind = (seed - kFirstTimed) / kTimedOneIn;
    const auto next = [&kind](uint64_t count) {
        const uint64_t digit = kind % count;
        kind /= count;
        return digit;
    };
    CommunicatorLimits& limits = s->world.limits;
    const uint32_t num_ranks = kTimedRanks[next(std::size(kTimedRanks))];
    const uint32_t num_tokens = kTimedTokens[next(std::size(kTimedTokens))];
    limits = {num_ranks, num_tokens, kTimedHidden, kTimedTopk, kTimedExperts, 0};
    CallShape shape;
    shape.engine = s->engine;
    shape.num_tokens = num_tokens;
    shape.hidden = kTimedHidden;
    shape.num_topk = kTimedTopk;
    shape.num_experts = kTimedExperts;
    shape.features.quant = kTimedQuants[next(std::size(kTimedQuants))];
    shape.routing = static_cast<Routing>(next(std::size(kRoutingNames)));
    static_cast<CallShape&>(*s) = shape;
    s->second.reset();
    s->operations = {{OperationKind::kDispatch, Act::kGood, 0, 1}, {OperationKind::kCombine, Act::kGood, 0, 1}};
    s->world.queue_depth = std::min(s->world.queue_depth, kMostDepth);
    s->world.cq_depth = std::min(s->world.cq_depth, kMostDepth);
    fit_fault(num_ranks, &s->world.fault);
}

std::string timed_kind(const CommunicatorLimits& limits, const CallShape& shape) {
    const Features& f = shape.features;
    const bool has_ranks =
        std::find(std::begin(kTimedRanks), std::end(kTimedRanks), limits.num_ranks) != std::end(kTimedRanks);
    const bool has_rows = f.dtype == Dtype::kBf16 && (f.quant == Quant::kNone || f.quant == Quant::kTokenInt8) &&
                          f.scales == ScalesKind::kNone && !f.is_int8 && f.mask == MaskKind::kNone;
    const bool is_full = shape.hidden == kTimedHidden && shape.num_topk == kTimedTopk &&
                         shape.num_experts == kTimedExperts && f.shared_ranks == 0 && !has_copies_per_expert(f) &&
                         shape.hole_one_in == 0 && !shape.is_one_hot && !shape.is_uneven;
    if (!has_ranks || !has_rows || !is_full) return "";
    return std::to_string(limits.num_ranks) + " ranks, " + std::to_string(shape.num_tokens) + " tokens, " +
           (f.quant == Quant::kNone ? "bf16" : "pertoken-int8") + ", " +
           kRoutingNames[static_cast<uint32_t>(shape.routing)];
}

}  // namespace ascend_deepep::simulator
