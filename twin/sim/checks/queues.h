// SPDX-License-Identifier: Apache-2.0
// Checker "queues": every WQE that a doorbell announces passes the engine's checks: it is there (owner bit), it fits
// the ring (I6), its addresses, lengths and keys are those of the two windows. Layer: twin/sim.
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

}  // namespace ascend_deepep::sim
