// SPDX-License-Identifier: Apache-2.0
// Checker "error record": a failed operation leaves a complete record: a code of a failure, the own rank, stage and
// sequence number, missing peers as many as it says, a time within the deadline, and a root that the fault explains.
// Layer: simulator.
// Time: the wait that failed, and the call as a whole, have taken at most the time-out and a quarter of it. On top come
// how long a core stands still, where the fault is that, for the wait and the call; and how late a write is, where the
// fault is that, for the call alone, which returns when all has landed.
// After a rank's death the root is that rank and no other. For the other faults the root is checked as far as the
// protocol can know it:
// - a core that stalls: the waits for a queue (stages send, wqe_builder, doorbell) name the peer of that queue. They
//   see that nothing completes, not whether the peer, the link or the own core that rings and drains stands still. The
//   root is the rank of the core, or the peer that this rank's own record names from such a wait.
// - several peers missing: the root is the one with the lowest number, which may be one that the true root held up in
//   an earlier operation or on another communicator. A rank that has not entered this operation is a fair root.
// - a link, a WQE that is lost or completes badly, a late write: the rank at one of its ends.
#pragma once

#include "simulator/scenario/scenario.h"

namespace ascend_deepep::simulator {

// What is wrong, or nothing. `elapsed_ns`: how long the call has taken.
std::string record_fault(const Channel& channel, const sim::World& world, uint32_t rank, uint64_t sequence,
                         uint64_t elapsed_ns, const OperationOutcome& outcome);

}  // namespace ascend_deepep::simulator
