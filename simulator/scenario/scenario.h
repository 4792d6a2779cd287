// SPDX-License-Identifier: Apache-2.0
// What a world of the simulator does: communicators, the calls of their ranks, their inputs, perhaps a fault. All of it
// is drawn from the seed. Layer: simulator.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "simulator/scenario/batch.h"
#include "simulator/scenario/routing.h"
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
    uint32_t communicator = 0;
};

// How a communicator is called.
struct CallShape {
    CombineEngine engine = CombineEngine::kMte;
    uint32_t num_tokens = 0;  // of the rank with the most: M
    uint32_t hidden = 0, num_topk = 0, num_experts = 0;
    bool is_uneven = false;
    bool has_scales = true;
    uint32_t hole_one_in = 0;  // every how many-th choice is no expert, 0: none
    bool is_one_hot = false;   // all tokens choose the same experts
    Routing routing = Routing::kUniform;
    Features features;
    uint32_t masked_one_in = 0;    // with a mask: every how many-th entry of it is not set; 1: all
    bool has_drawn_roles = false;  // every rank splits its cores as its number and the seed say, not by the model
    bool has_zeroed_performance = false;  // performance_info is zeros before every call
    bool has_odd_values = false;          // of rows to be quantised: NaN, infinities, zeros, the smallest numbers
};

// Another communicator of the same processes. Each of its operations comes before the one of the first communicator
// with that index, or after all of them.
struct SecondCommunicator {
    sim::CommunicatorConfig config;
    CallShape shape;
    std::vector<Operation> operations;
    std::vector<uint32_t> before;
};

// The base: how the first communicator is called, which `world` describes.
struct Scenario : CallShape {
    sim::WorldConfig world;  // its seed, of what hardware leaves open, may be another
    uint64_t seed = 0;       // of the inputs
    std::optional<SecondCommunicator> second;
    bool has_survivors = false;         // after a failure, the processes that live make a new communicator and call it
    bool uses_memory_again = false;     // its windows hold what those of the first communicator held
    std::vector<Operation> operations;  // on the first communicator
};

// One communicator of a world, as its ranks' calls and the checkers of these see it.
struct Channel {
    uint32_t number = 0;  // of the communicator
    sim::CommunicatorConfig config;
    CallShape shape;
    uint32_t num_cores = 0;
    uint64_t timeout_ns = 0;
    uint64_t seed = 0;  // of its inputs
};

// `forced`: a fault of this kind, in every world; kNone: one of a drawn kind in half of them.
Scenario draw_scenario(uint64_t seed, bool with_faults, sim::SimFault forced = sim::SimFault::kNone);
// What hardware leaves open, drawn anew from another seed.
void draw_schedule(uint64_t seed, Scenario* scenario);
std::string describe(const Scenario& scenario);

// What every host does: the operations of both communicators in turn.
std::vector<Operation> all_operations(const Scenario& scenario);

// What follows from the first communicator: the second has as many ranks, a CQ is at least as deep as its SQ.
void fit_communicators(Scenario* scenario);

// Channel 0 or 1 of the scenario.
Channel channel_of(const Scenario& scenario, uint32_t number);

// What of the world is at an edge, by name: ring sizes, numbers about to wrap, a second communicator.
std::vector<std::string> conditions_of(const Scenario& scenario);

// Which features its calls have, by name.
std::vector<std::string> features_of(const Scenario& scenario);

// Inputs of a rank in a round.
Batch make_batch(const Channel& channel, uint32_t rank, uint32_t round);
// What is masked is not looked at: ids there become anything, by `salt`, and weights where nothing is live no numbers.
constexpr uint64_t kDispatchGarbage = 1, kCombineGarbage = 2;
void garble_masked(uint64_t salt, Batch* batch);

}  // namespace ascend_deepep::simulator
