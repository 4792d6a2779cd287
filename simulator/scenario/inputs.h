// SPDX-License-Identifier: Apache-2.0
// Batches of a channel by round and rank, made once for all ranks; and acts made possible with them. Layer: simulator.
#pragma once

#include <memory>
#include <vector>

#include "simulator/scenario/scenario.h"

namespace ascend_deepep::simulator {

class Inputs {
  public:
    explicit Inputs(const Channel& channel) : channel_(channel) {}
    const Channel& channel() const { return channel_; }
    // Of all ranks. The reference stays good.
    const std::vector<Batch>& round(uint32_t number);

  private:
    Channel channel_;
    std::vector<std::unique_ptr<std::vector<Batch>>> rounds_;
};

// An act needs something to spoil: a token of the actor, a row it received. Without it the host refuses.
void settle_acts(Scenario* scenario);

// A good dispatch of the scenario moves a row from one rank to another.
bool has_remote_row(const Scenario& scenario);

// Rows and messages of all calls: what the size of a world is measured by.
uint64_t num_items(const Scenario& scenario);

// Longest time of a block on a link with which the rows of one call are far from a time-out.
uint64_t most_block_ns(const Scenario& scenario);

}  // namespace ascend_deepep::simulator
