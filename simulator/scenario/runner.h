// SPDX-License-Identifier: Apache-2.0
// Runs one seed: scenario, world, checks. Layer: simulator.
#pragma once

#include "simulator/scenario/scenario.h"
#include "twin/runtime/kernel_table.h"

namespace ascend_deepep::simulator {

struct SeedOptions {
    bool with_faults = true;
    sim::SimFault forced = sim::SimFault::kNone;  // in every world
    sim::Assumptions assumptions;
};

struct SeedResult {
    std::vector<sim::Finding> findings;
    uint64_t hash = 0;
    uint64_t steps = 0;
    uint64_t events = 0;
    uint64_t writes = 0;  // remote ones
    uint64_t virtual_ns = 0;
    uint32_t failures = 0;  // operations that ended with an error, on any rank
    sim::SimFault fault = sim::SimFault::kNone;
    bool has_struck = false;
};

SeedResult run_seed(uint64_t seed, const SeedOptions& options, const twin::KernelTable& kernels);

}  // namespace ascend_deepep::simulator
