// SPDX-License-Identifier: Apache-2.0
// Where hosts meet when their calls are done or have failed: those that live make a new communicator, as an application
// would that goes on without the dead. Layer: simulator.
// They meet beside the fabric, and learn who lives as through a store. The fault is over then: what it broke works
// again, the dead stay dead. A process whose rank failed is a survivor like any other.
#pragma once

#include <memory>
#include <vector>

#include "simulator/scenario/inputs.h"

namespace ascend_deepep::simulator {

class Meeting {
  public:
    Meeting(const Scenario& scenario, sim::World& world)
        : scenario_(scenario), world_(world), has_come_(world.num_processes(), false) {}

    // On the host of `process`: returns when all that live have come. Inputs of the new communicator; null: none is
    // needed, as no call has failed and nobody has died.
    Inputs* meet(uint32_t process, bool has_failed);
    uint32_t num_survivors() const { return inputs_ == nullptr ? 0 : inputs_->channel().config.limits.num_ranks; }

  private:
    bool all_have_come() const;
    void decide();

    const Scenario& scenario_;
    sim::World& world_;
    std::vector<bool> has_come_;
    bool any_failed_ = false;
    bool is_decided_ = false;
    std::unique_ptr<Inputs> inputs_;
};

}  // namespace ascend_deepep::simulator
