// SPDX-License-Identifier: Apache-2.0
// What a world may assume of its hardware, and how it spreads its choices. Layer: twin/sim. docs/twin.md, "Simulator".
#pragma once

#include <cstdint>
#include <string_view>

#include "twin/sim/random.h"

namespace ascend_deepep::sim {

// docs/protocol.md, A1 to A3. One that is dropped lets the machine do what it excludes.
struct Assumptions {
    bool flags_after_data = true;       // A1
    bool finished_has_landed = true;    // A2
    bool completed_was_fetched = true;  // A3
};

struct Switch {
    std::string_view name;
    bool Assumptions::* field;
};
// What `--drop` knows.
constexpr Switch kSwitches[] = {
    {"a1", &Assumptions::flags_after_data},
    {"a2", &Assumptions::finished_has_landed},
    {"a3", &Assumptions::completed_was_fetched},
};

// False: no switch has this name.
constexpr bool drop_switch(std::string_view name, Assumptions* assumptions) {
    for (const Switch& known : kSwitches) {
        if (known.name != name) continue;
        assumptions->*known.field = false;
        return true;
    }
    return false;
}

// Drawn once a world, so that worlds differ in kind: patient and hasty cores, near and far peers.
struct Schedule {
    uint32_t run_bits;       // a core goes on for up to 2^run_bits accesses
    uint32_t slow_shift;     // the slowest core is chosen 2^slow_shift times less often
    uint32_t pipe_shift;     // pipes likewise
    uint32_t piece_units;    // largest piece of a remote write, in units of 32 B
    uint64_t delivery_ns;    // longest way of a piece
    uint64_t wqe_ns;         // longest pause of a queue before a step of a WQE
    uint64_t completion_ns;  // longest way of a CQE
    uint64_t host_ns;        // longest pause of a host between operations
};

inline Schedule draw_schedule(Random& random) {
    constexpr uint64_t kWays[] = {1, 40, 400, 4000, 40000, 400000};
    Schedule schedule{};
    schedule.run_bits = random.between(0, 9);
    schedule.slow_shift = random.between(0, 6);
    schedule.pipe_shift = random.between(0, 6);
    schedule.piece_units = random.one_in(3) ? 15 : random.between(1, 15);
    schedule.delivery_ns = random.pick(kWays);
    schedule.wqe_ns = random.pick(kWays);
    schedule.completion_ns = random.pick(kWays);
    schedule.host_ns = random.pick(kWays);
    return schedule;
}

}  // namespace ascend_deepep::sim
