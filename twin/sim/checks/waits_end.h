// SPDX-License-Identifier: Apache-2.0
// Checker "every wait ends" (I8): while an operation is open, something can move, or some wait has a deadline ahead.
// Layer: twin/sim. The world asks when nobody can go on, nothing is under way, all sleepers have looked again and no
// deadline is left: quiescence, not a count of polls. A second limit, on steps, catches loops that never poll.
#pragma once

#include <string>

#include "contract/tag.h"
#include "twin/sim/actors.h"
#include "twin/sim/arena.h"

namespace ascend_deepep::sim {

// Where every core of the open operations stands.
inline std::string stuck_cores(const Actors& actors, const WindowArena& arena, uint32_t num_cores) {
    std::string text;
    for (uint32_t rank = 0; rank < arena.num_ranks(); ++rank) {
        if (!actors.is_launched(rank)) continue;
        const ControlPage& page = arena.page(rank);
        text += "; rank " + std::to_string(rank) + " operation " + std::to_string(page.state.sequence) + " stages";
        for (uint32_t core = 0; core < num_cores; ++core) {
            text += ' ';
            text += actors.has_returned(rank, core) ? "-" : std::to_string(flag_value(page.cores[core].progress));
        }
    }
    return text;
}

}  // namespace ascend_deepep::sim
