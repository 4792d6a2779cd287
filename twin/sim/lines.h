// SPDX-License-Identifier: Apache-2.0
// How places that a rank's cores reach are numbered: the window from 0 on, the memory beside it (rings, workspace) and
// each tensor of the call far behind, so that no two share a line. Layer: twin/sim.
#pragma once

#include <cstdint>

namespace ascend_deepep::sim {

constexpr uint64_t kMemoryLine = uint64_t{1} << 40;
constexpr uint64_t kTensorLine = 2 * kMemoryLine;  // of the first; the next one begins kMemoryLine behind it
constexpr uint64_t kMostStretches = 16;            // of one rank

// Those of communicator `number` begin here.
constexpr uint64_t first_line(uint32_t number) {
    return uint64_t{number} << 44;
}
constexpr uint32_t communicator_of_line(uint64_t line) {
    return static_cast<uint32_t>(line >> 44);
}

}  // namespace ascend_deepep::sim
