// SPDX-License-Identifier: Apache-2.0
// Checker "error record": a failed operation leaves a complete record: a code of a failure, the own rank, stage and
// sequence number, missing peers as many as it says, no more time than any deadline allows, and a root that the fault
// explains. Layer: simulator.
// After a rank's death the root is that rank and no other, and no operation takes longer than its time-out. For the
// other faults the root is checked as far as the protocol can know it:
// - a core that stalls: the waits for a queue (stages send, wqe_builder, doorbell) name the peer of that queue. They
//   see that nothing completes, not whether the peer, the link or the own core that rings and drains stands still. The
//   root is the rank of the core, or the peer that this rank's own record names from such a wait.
// - several peers missing: the root is the one with the lowest number, which may be one that the true root held up in
//   an earlier operation or on another communicator. A rank that has not entered this operation is a fair root.
// - a link: one of its ends. A lost or late write, a bad completion: any rank, since any may be at the other end.
#pragma once

#include "simulator/scenario/scenario.h"

namespace ascend_deepep::simulator {

// What is wrong, or nothing. `elapsed_ns`: how long the call has taken.
std::string record_fault(const Channel& channel, const sim::World& world, uint32_t rank, uint64_t sequence,
                         uint64_t elapsed_ns, const OperationOutcome& outcome);

}  // namespace ascend_deepep::simulator
