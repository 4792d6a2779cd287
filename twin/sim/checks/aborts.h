// SPDX-License-Identifier: Apache-2.0
// Checker "aborts": a rank whose operation failed has told every peer: its record stands in its abort cell of their
// windows, under the tag of the operation (P13). Asked when the launch has returned, by when all has landed (A2). And a
// rank that has been told does not wait for its own time-out. And its error record is written when a core of it sets
// the abort word, which is asked right before. Layer: twin/sim.
#pragma once

#include <cstring>
#include <string>

#include "contract/tag.h"
#include "twin/sim/arena.h"

namespace ascend_deepep::sim {

inline std::string abort_fault(const WindowArena& arena, uint32_t from, uint32_t to) {
    const ControlPage& page = arena.page(from);
    const uint64_t cell =
        arena.layout().regions[static_cast<uint32_t>(WindowRegion::kAbort)].offset + uint64_t{from} * kBlockBytes;
    const uint8_t* block = arena.window(to) + cell;
    uint64_t tag;
    std::memcpy(&tag, block + kBlockDataBytes, sizeof(tag));
    const bool is_told = tag == make_tag(page.state.tag_base, page.record.sequence) &&
                         std::memcmp(block, &page.record, sizeof(ErrorRecord)) == 0;
    if (is_told) return "";
    return "rank " + std::to_string(from) + " failed in operation " + std::to_string(page.record.sequence) +
           ", and its abort cell at rank " + std::to_string(to) + " does not hold its record";
}

inline std::string unrecorded_fault(const ControlPage& page, uint32_t rank) {
    if (page.record.code != Code::kOk && page.record.sequence == page.state.sequence) return "";
    return "rank " + std::to_string(rank) + " sets its abort word in operation " + std::to_string(page.state.sequence) +
           " before its error record is written";
}

// `to` failed by its own time-out, `failed_ns` into a world in which `from` had told it at `told_ns`.
inline std::string unheard_fault(uint32_t from, uint32_t to, uint64_t told_ns, uint64_t failed_ns, uint64_t patience) {
    if (told_ns + patience >= failed_ns) return "";
    return "rank " + std::to_string(to) + " waited for its time-out, " + std::to_string(failed_ns - told_ns) +
           " ns after rank " + std::to_string(from) + " had told it of its failure";
}

}  // namespace ascend_deepep::sim
