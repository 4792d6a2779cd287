// SPDX-License-Identifier: Apache-2.0
// Drawing a fault. Layer: twin/sim.
#include "twin/sim/fault_plan.h"

namespace ascend_deepep::sim {
namespace {

constexpr uint32_t kStepBits = 15;  // a small world takes some ten thousand steps
constexpr uint32_t kWriteBits = 6;  // and some ten remote writes a rank
constexpr uint64_t kSlowLinkNs = 60000;

// Well within the time-out or well beyond it: what happens in between is a matter of luck.
uint64_t draw_delay(Random& random, uint64_t timeout_ns) {
    return random.one_in(2) ? timeout_ns / 16 + random.below(timeout_ns / 8)
                            : 2 * timeout_ns + random.below(timeout_ns);
}

}  // namespace

FaultPlan draw_fault(Random& random, uint32_t num_ranks, uint32_t num_cores, uint64_t timeout_ns, SimFault forced) {
    FaultPlan plan;
    const auto drawn = static_cast<SimFault>(random.between(1, kNumSimFaults - 1));
    plan.kind = forced != SimFault::kNone ? forced : drawn;
    if (num_ranks == 1 && plan.kind != SimFault::kRankDies) plan.kind = SimFault::kCoreStalls;
    plan.rank = static_cast<uint32_t>(random.below(num_ranks));
    plan.peer = num_ranks == 1 ? 0 : (plan.rank + random.between(1, num_ranks - 1)) % num_ranks;
    plan.core = static_cast<uint32_t>(random.below(num_cores));
    plan.is_silent = random.one_in(2);
    switch (plan.kind) {
        case SimFault::kCoreStalls:
            plan.at = random.log_uniform(kStepBits);
            plan.ns = draw_delay(random, timeout_ns);
            break;
        case SimFault::kRankDies:
            plan.at_permille = random.between(1, 1000);  // near the end it may be gone by then
            break;
        case SimFault::kLinkSlow:
            plan.ns = random.below(kSlowLinkNs);
            break;
        case SimFault::kLateProcess:
            plan.ns = draw_delay(random, timeout_ns);
            break;
        case SimFault::kLateWrite:
            plan.at = random.log_uniform(kWriteBits) - 1;
            plan.ns = draw_delay(random, timeout_ns);
            break;
        case SimFault::kLinkCut:
        case SimFault::kBadCqe:
        case SimFault::kWqeLost:
            plan.at = random.log_uniform(kWriteBits) - 1;
            break;
        case SimFault::kNone:
        case SimFault::kCount:
            break;
    }
    return plan;
}

}  // namespace ascend_deepep::sim
