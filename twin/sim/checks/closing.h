// SPDX-License-Identifier: Apache-2.0
// Checker "closing": when a rank's sequence number is advanced, its operation is closed: all other cores have drained
// their pipes and their posted stores (P11), the outcome is the operation's, and the counters are ready for the next
// one (P12). Asked right before the store. Layer: twin/sim. It does not look at the outcome's contents.
#pragma once

#include <string>

#include "twin/sim/arena.h"

namespace ascend_deepep::sim {

// From operation 1 on: before it, a page of zeros says the same as a closed operation 0.
// `busy_core`: a core whose pipes still have work, `storing_core`: one whose stores are under way; -1: none.
inline std::string closing_fault(const ControlPage& page, uint32_t rank, int32_t busy_core, int32_t storing_core) {
    const std::string who = "rank " + std::to_string(rank) + " closes operation " + std::to_string(page.state.sequence);
    if (busy_core >= 0) return who + " while the pipes of core " + std::to_string(busy_core) + " have work";
    if (storing_core >= 0) return who + " while stores of core " + std::to_string(storing_core) + " are under way";
    if (page.outcome.sequence != page.state.sequence) {
        return who + ", and its outcome is that of " + std::to_string(page.outcome.sequence);
    }
    if (page.arrivals.word != 0 || page.next_work.word != 0) {
        return who + " with " + std::to_string(page.arrivals.word) + " arrivals and work item " +
               std::to_string(page.next_work.word) + " left in the counters of the next one";
    }
    return "";
}

}  // namespace ascend_deepep::sim
