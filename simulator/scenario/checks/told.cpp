// SPDX-License-Identifier: Apache-2.0
// Layer: simulator.
#include "simulator/scenario/checks/told.h"

#include <algorithm>

#include "twin/sim/checks/aborts.h"

namespace ascend_deepep::simulator {

std::string untold_fault(const Channel& channel, const sim::World& world, uint32_t rank) {
    if (!world.shared().assumptions.finished_has_landed) return "";
    const sim::FaultPlan& fault = world.fault();
    const sim::Communicator& communicator = world.communicator(channel.number);
    for (uint32_t peer = 0; peer < communicator.num_ranks(); ++peer) {
        const bool is_cut = fault.kind == sim::SimFault::kLinkCut && communicator.process_of(rank) == fault.rank &&
                            communicator.process_of(peer) == fault.peer;
        if (peer == rank || is_cut) continue;
        std::string text = sim::abort_fault(communicator.arena(), rank, peer);
        if (!text.empty()) return text;
    }
    return "";
}

std::string unheard_fault(const Channel& channel, const sim::World& world, uint32_t rank, uint64_t start_ns) {
    const sim::Communicator& communicator = world.communicator(channel.number);
    const ErrorRecord& record = communicator.arena().page(rank).record;
    // A core that stood still between its look at the abort cells and its look at the clock is excused.
    const bool has_stalled =
        world.fault().kind == sim::SimFault::kCoreStalls && world.fault().rank == communicator.process_of(rank);
    if (record.code != Code::kTimeout || has_stalled) return "";
    for (uint32_t peer = 0; peer < communicator.num_ranks(); ++peer) {
        const uint64_t told_ns = communicator.wire().told_at(peer, rank);
        if (told_ns == 0) continue;
        std::string text = sim::unheard_fault(peer, rank, std::max(told_ns, start_ns), start_ns + record.elapsed_cycles,
                                              channel.timeout_ns / 4);
        if (!text.empty()) return text;
    }
    return "";
}

}  // namespace ascend_deepep::simulator
