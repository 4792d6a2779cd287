// SPDX-License-Identifier: Apache-2.0
// One communicator of a world: windows, wire and ranks of its own, on some of the world's processes. Layer: twin/sim.
#pragma once

#include <memory>
#include <vector>

#include "twin/sim/rank.h"

namespace ascend_deepep::sim {

struct CommunicatorConfig {
    CommunicatorLimits limits{};
    uint32_t queue_depth = 8;
    uint32_t cq_depth = 0;  // at least queue_depth; 0: the same
    uint32_t queues_per_peer = 1;
    uint32_t first_index = 0;  // of all queues: what they have counted before
    uint64_t tag_base = 0;
};

class Communicator {
  public:
    // `members`: processes of the ranks. `number`: of the communicator. `first_seat`: of rank 0.
    Communicator(const CommunicatorConfig& config, std::vector<uint32_t> members, uint32_t number, uint32_t first_seat,
                 uint32_t num_cores, Shared& shared, Actors& actors);

    uint32_t num_ranks() const { return config_.limits.num_ranks; }
    uint32_t process_of(uint32_t rank) const { return members_[rank]; }
    // num_ranks() where the process has no rank here.
    uint32_t rank_of(uint32_t process) const;
    SimRank& rank(uint32_t rank) { return *ranks_[rank]; }
    const SimRank& rank(uint32_t rank) const { return *ranks_[rank]; }

    const CommunicatorConfig& config() const { return config_; }
    WindowArena& arena() { return arena_; }
    const WindowArena& arena() const { return arena_; }
    Wire& wire() { return wire_; }
    const Wire& wire() const { return wire_; }

  private:
    CommunicatorConfig config_;
    std::vector<uint32_t> members_;
    WindowArena arena_;
    Wire wire_;
    std::vector<std::unique_ptr<SimRank>> ranks_;
};

}  // namespace ascend_deepep::sim
