// SPDX-License-Identifier: Apache-2.0
// Checker "liveness": from the last strike of a fault on (from the start, where there is none) all hosts are done
// within a number of steps that depends on the size of the world alone. Layer: twin/sim. A step is one turn of the
// scheduler. Virtual time is no part of it: a world whose calls wait for their time-outs takes few steps. It catches
// what moves without getting anywhere, which "every wait ends" does not see; a world whose size is not known is not
// looked at.
#pragma once

#include <cstdint>
#include <string>

namespace ascend_deepep::sim {

struct WorldSize {
    uint32_t num_processes;
    uint32_t num_cores;
    uint64_t num_items;  // rows and messages of all calls; 0: not known
};

inline uint64_t step_bound(const WorldSize& size) {
    return size.num_processes * (20000 + uint64_t{200} * size.num_cores + 600 * size.num_items);
}

inline std::string liveness_fault(const WorldSize& size, uint64_t steps) {
    if (size.num_items == 0 || steps <= step_bound(size)) return "";
    return "not done " + std::to_string(steps) + " steps after the last fault, for " + std::to_string(size.num_items) +
           " rows and messages of " + std::to_string(size.num_processes) + " processes with " +
           std::to_string(size.num_cores) + " cores";
}

}  // namespace ascend_deepep::sim
