// SPDX-License-Identifier: Apache-2.0
// Checker "queues" (I6): every WQE that a doorbell announces passes the engine's checks: it is there (owner bit), its
// addresses, lengths and keys are those of the two windows. And no queue stops: an SQ doorbell announces at most a ring
// of WQEs and does not move back, a CQ doorbell frees what was completed and does not move back, and every completion
// finds a free CQE. Layer: twin/sim.
// It does not say whether the right token is carried: that shows in the results.
#pragma once

#include <string>

#include "twin/fabric/urma_engine.h"

namespace ascend_deepep::sim {

inline std::string queue_fault(uint32_t rank, uint32_t peer, uint32_t index, twin::WqeFault fault) {
    if (fault == twin::WqeFault::kNone || fault == twin::WqeFault::kInjected) return "";
    return "WQE " + std::to_string(index) + " of rank " + std::to_string(rank) + " to rank " + std::to_string(peer) +
           " fails check " + std::to_string(static_cast<uint32_t>(fault)) + " of twin/fabric/urma_engine.h";
}

// `why`: what has stopped the queue, as the engine says; kNone: nothing has.
inline std::string stop_fault(uint32_t rank, uint32_t peer, twin::WqeFault why) {
    if (why == twin::WqeFault::kNone) return "";
    const std::string what =
        why == twin::WqeFault::kOverrun   ? "its doorbell announces more than a ring of WQEs, or moves back"
        : why == twin::WqeFault::kCqIndex ? "its CQ doorbell moves back, or past what was completed"
                                          : "a completion finds no free CQE";
    return "the queue of rank " + std::to_string(rank) + " to rank " + std::to_string(peer) + " stops: " + what;
}

}  // namespace ascend_deepep::sim
