// SPDX-License-Identifier: Apache-2.0
// Layer: simulator.
#include "simulator/scenario/checks/copies.h"

#include "simulator/scenario/checks/text.h"
#include "simulator/scenario/oracle.h"

namespace ascend_deepep::simulator {

std::vector<uint64_t> copies_sent(const Channel& channel, const sim::World& world, uint32_t rank) {
    std::vector<uint64_t> sent;
    for (uint32_t peer = 0; peer < channel.config.limits.num_ranks; ++peer)
        sent.push_back(world.communicator(channel.number).wire().num_copies(rank, peer));
    return sent;
}

std::string copies_fault(const Channel& channel, const sim::World& world, const Batch& batch,
                         const std::vector<uint64_t>& before) {
    const sim::FaultPlan& fault = world.fault();
    const bool drops_one = fault.kind == sim::SimFault::kWqeLost || fault.kind == sim::SimFault::kBadCqe;
    if (fault.has_struck && drops_one) return "";  // for "outcome" to judge
    const std::vector<uint64_t> after = copies_sent(channel, world, batch.rank);
    const int num_ranks = static_cast<int>(after.size());
    for (int peer = 0; peer < num_ranks; ++peer) {
        if (peer == static_cast<int>(batch.rank)) continue;
        const uint64_t want = expected_copies(batch, num_ranks, static_cast<int>(batch.num_experts), peer);
        const uint64_t got = after[peer] - before[peer];
        if (got == want) continue;
        return of_rank(batch.rank, "dispatch: sent rank " + std::to_string(peer) + " " + std::to_string(got) +
                                       " copies, want " + std::to_string(want));
    }
    return "";
}

}  // namespace ascend_deepep::simulator
