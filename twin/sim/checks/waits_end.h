// SPDX-License-Identifier: Apache-2.0
// Checker "every wait ends" (I8): while an operation is open, something can move, or some wait has a deadline ahead.
// Layer: twin/sim. The world asks when nobody can go on, nothing is under way, all sleepers have looked again and no
// deadline is left: quiescence, not a count of polls. A second limit, on steps, catches loops that never poll.
#pragma once

#include <string>

#include "contract/tag.h"
#include "twin/sim/communicator.h"

namespace ascend_deepep::sim {

// Where every core of the open operations of a communicator stands.
inline std::string stuck_cores(const Communicator& communicator, const Actors& actors, uint32_t num_cores) {
    std::string text;
    for (uint32_t rank = 0; rank < communicator.num_ranks(); ++rank) {
        if (!communicator.rank(rank).is_launched()) continue;
        const ControlPage& page = communicator.arena().page(rank);
        text += "; rank " + std::to_string(rank) + " operation " + std::to_string(page.state.sequence) + " stages";
        for (uint32_t core = 0; core < num_cores; ++core) {
            text += ' ';
            text += actors.has_returned(communicator.process_of(rank), core)
                        ? "-"
                        : std::to_string(flag_value(page.cores[core].progress));
        }
    }
    return text;
}

}  // namespace ascend_deepep::sim
