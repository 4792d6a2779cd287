// SPDX-License-Identifier: Apache-2.0
// One rank's calls of a scenario on one communicator, on any machine that has dispatch, combine and refuse: a rank of
// the simulator's worlds or a thread of the tests. Layer: simulator.
#pragma once

#include <algorithm>
#include <map>
#include <utility>

#include "simulator/scenario/calls.h"
#include "simulator/scenario/inputs.h"

namespace ascend_deepep::simulator {

// What a call gave; of the results, those of its kind.
struct Played {
    OperationOutcome outcome{};
    bool has_dispatched = false;
    bool has_combined = false;
    DispatchResult dispatched;
    CombineResult combined;
};

// What the experts of a rank make of the rows it received.
std::vector<uint16_t> expert_output(const Channel& channel, uint32_t rank, const DispatchResult& got);
// The last pair that the mask lets count: an id there is looked at. False: there is none.
bool can_spoil(const Batch& batch, uint32_t* token, uint32_t* column);
// Makes that id bad for the operation.
void spoil_ids(OperationKind kind, Batch* batch);
// Makes the inputs of a combine bad, as the act says.
void spoil(const Channel& channel, Act act, Batch* batch, DispatchResult* dispatched);

template <typename Machine>
class Player {
  public:
    Player(Inputs& inputs, uint32_t rank, Machine& machine) : inputs_(inputs), rank_(rank), machine_(machine) {}

    Played perform(const Operation& operation) {
        const bool is_actor = operation.actor == rank_;
        if (operation.act == Act::kHostRefuses && is_actor) {
            Played played;
            played.outcome = machine_.refuse(operation.kind, Refusal{Code::kBadShape, Field::kX, 0, 0, 3, 2, rank_, 0});
            return played;
        }
        const bool dispatches =
            operation.kind == OperationKind::kDispatch || (operation.act == Act::kOtherCall && is_actor);
        return dispatches ? dispatch(operation) : combine(operation);
    }

  private:
    Played dispatch(const Operation& operation) {
        Batch batch = inputs_.round(operation.round)[rank_];
        if (operation.act == Act::kBadIds && operation.actor == rank_) spoil_ids(OperationKind::kDispatch, &batch);
        Played played;
        played.has_dispatched = true;
        played.dispatched = machine_.dispatch(batch);
        played.outcome = played.dispatched.outcome;
        if (played.outcome.code == Code::kOk) held_[operation.round] = played.dispatched;
        return played;
    }

    Played combine(const Operation& operation) {
        Batch batch = inputs_.round(operation.round)[rank_];
        garble_masked(kCombineGarbage, &batch);
        const DispatchResult& held = held_[operation.round];
        DispatchResult dispatched = held;
        if (operation.actor == rank_) spoil(inputs_.channel(), operation.act, &batch, &dispatched);
        Played played;
        played.has_combined = true;
        played.combined = machine_.combine(batch, dispatched, expert_output(inputs_.channel(), rank_, held));
        played.outcome = played.combined.outcome;
        return played;
    }

    Inputs& inputs_;
    uint32_t rank_;
    Machine& machine_;
    std::map<uint32_t, DispatchResult> held_;  // by round
};

}  // namespace ascend_deepep::simulator
