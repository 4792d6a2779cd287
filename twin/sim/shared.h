// SPDX-License-Identifier: Apache-2.0
// What all parts of one world share: the clock, chance, the fingerprint, what is to happen, what was found.
// Layer: twin/sim.
#pragma once

#include <vector>

#include "twin/sim/choices.h"
#include "twin/sim/costs.h"
#include "twin/sim/events.h"
#include "twin/sim/fault_plan.h"
#include "twin/sim/findings.h"
#include "twin/sim/meter.h"
#include "twin/sim/options.h"
#include "twin/sim/timeline.h"
#include "twin/sim/trace_hash.h"

namespace ascend_deepep::sim {

class Wire;

struct Shared {
    explicit Shared(uint64_t seed) : seed(seed), random(seed) {}

    // A moment up to `longest` from now, never now.
    uint64_t soon(uint64_t longest) { return now + 1 + random.below(longest); }

    uint64_t seed;
    Random random;
    TraceHash trace;
    EventQueue events;
    Findings findings;
    Assumptions assumptions;
    Schedule schedule{};
    FaultPlan fault;
    Choices* choices = nullptr;    // null: chance decides
    Timeline* timeline = nullptr;  // null: nobody looks
    Meter* meter = nullptr;        // null: nobody counts
    const Costs* costs = nullptr;  // null: one clock for all, and an access is a nanosecond
    Handicap handicap;             // with costs
    std::vector<Wire*> wires;      // by communicator
    uint64_t timeout_ns = 0;
    uint64_t now = 0;    // virtual nanoseconds
    uint64_t steps = 0;  // of the scheduler
};

// In a search: the way that what an event must not overtake has been put off.
inline Delay must_follow(const Shared& shared, const Event& event) {
    if (shared.choices == nullptr || !shared.assumptions.flags_after_data) return Delay::kNone;  // A1
    return shared.choices->follows(event);
}

}  // namespace ascend_deepep::sim
