// SPDX-License-Identifier: Apache-2.0
// Layer: twin/sim.
#include "twin/sim/communicator.h"

#include <algorithm>
#include <utility>

namespace ascend_deepep::sim {
namespace {

constexpr uint64_t kStaleCommunicator = uint64_t{0x5A5A5A5A} << 32;

}  // namespace

Communicator::Communicator(const CommunicatorConfig& config, std::vector<uint32_t> members, uint32_t number,
                           uint32_t first_seat, uint32_t num_cores, Shared& shared, Actors& actors)
    : config_(config),
      members_(std::move(members)),
      arena_(config.limits.num_ranks, window_layout(config.limits),
             kStaleCommunicator | static_cast<uint32_t>(config.tag_base + shared.random.below(2)), shared.random,
             number),
      wire_(shared, actors, arena_, members_) {
    RankConfig rank{};
    rank.limits = config.limits;
    rank.num_cores = num_cores;
    rank.queue_depth = config.queue_depth;
    rank.cq_depth = config.cq_depth == 0 ? config.queue_depth : config.cq_depth;
    rank.queues_per_peer = config.queues_per_peer;
    rank.first_index = config.first_index;
    rank.tag_base = config.tag_base;
    for (uint32_t i = 0; i < num_ranks(); ++i)
        rank.nonces.push_back(shared.random.next());
    for (rank.rank = 0; rank.rank < num_ranks(); ++rank.rank) {
        rank.process = members_[rank.rank];
        rank.seat = first_seat + rank.rank;
        ranks_.push_back(std::make_unique<SimRank>(rank, shared, actors, arena_, wire_));
    }
}

uint32_t Communicator::rank_of(uint32_t process) const {
    return static_cast<uint32_t>(std::find(members_.begin(), members_.end(), process) - members_.begin());
}

}  // namespace ascend_deepep::sim
