// SPDX-License-Identifier: Apache-2.0
// What a world of the simulator does: a communicator, the calls of its ranks, their inputs, perhaps a fault. All of it
// is drawn from the seed. Layer: simulator.
#pragma once

#include <string>
#include <vector>

#include "simulator/scenario/batch.h"
#include "twin/sim/world.h"

namespace ascend_deepep::simulator {

enum class Act : uint32_t {
    kGood,
    kHostRefuses,    // the actor's host refuses the call
    kBadIds,         // dispatch: an id of the actor is out of range; combine: its ids are not those it dispatched
    kForeignTag,     // combine: the trailer of the actor's triples names another communicator
    kForeignTriple,  // combine: one of the actor's triples is of another source
    kOtherCall,      // combine: the actor dispatches
};

struct Operation {
    OperationKind kind;
    Act act;
    uint32_t actor;
    uint32_t round;  // whose batches: of this dispatch, or of the dispatch that is combined, not always the last
};

struct Scenario {
    sim::WorldConfig world;  // its seed, of what hardware leaves open, may be another
    uint64_t seed = 0;       // of the inputs
    CombineEngine engine = CombineEngine::kMte;
    uint32_t hidden = 0, num_topk = 0;
    bool is_uneven = false;
    bool has_scales = true;
    uint32_t hole_one_in = 0;  // every how many-th choice is no expert, 0: none
    bool is_one_hot = false;   // all tokens choose the same experts
    std::vector<Operation> operations;
};

// `forced`: a fault of this kind, in every world; kNone: one of a drawn kind in half of them.
Scenario draw_scenario(uint64_t seed, bool with_faults, sim::SimFault forced = sim::SimFault::kNone);
// What hardware leaves open, drawn anew from another seed.
void draw_schedule(uint64_t seed, Scenario* scenario);
std::string describe(const Scenario& scenario);

// Inputs of a rank in a round.
Batch make_batch(const Scenario& scenario, uint32_t rank, uint32_t round);

}  // namespace ascend_deepep::simulator
