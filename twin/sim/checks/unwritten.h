// SPDX-License-Identifier: Apache-2.0
// Checker "unwritten": no load, copy or WQE takes bytes of a window, a ring or the workspace that nobody has written
// since the communicator was made. Layer: twin/sim.
// Flag areas may be looked at at any time. UB and the tensors of calls are poisoned instead: what a kernel makes of
// them shows in the results. Bytes that were written in an earlier operation count as written; that they are stale
// shows in the results too.
#pragma once

#include <string>

#include "twin/sim/arena.h"

namespace ascend_deepep::sim {

inline std::string unwritten_fault(const Shadow& shadow, uint32_t rank, const char* memory, uint64_t offset,
                                   uint64_t bytes) {
    const uint64_t at = shadow.first_unwritten(offset, bytes);
    if (at == shadow.size()) return "";
    return "rank " + std::to_string(rank) + " takes " + std::to_string(bytes) + " B at offset " +
           std::to_string(offset) + " of its " + memory + ", and nobody has written byte " + std::to_string(at);
}

}  // namespace ascend_deepep::sim
