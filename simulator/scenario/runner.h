// SPDX-License-Identifier: Apache-2.0
// Runs one seed: scenario, world, checks. Layer: simulator.
#pragma once

#include <optional>

#include "simulator/scenario/overrides.h"
#include "simulator/scenario/player.h"
#include "twin/runtime/kernel_table.h"

namespace ascend_deepep::simulator {

struct SeedOptions {
    bool with_faults = true;
    sim::SimFault forced = sim::SimFault::kNone;  // in every world
    sim::Assumptions assumptions;
    std::optional<uint64_t> schedule_seed;  // of what hardware leaves open; none: the seed itself
    Settings settings;                      // set after drawing
    std::string timeline_path;              // where the timeline goes as a trace for Perfetto; empty: none
    bool keeps_outputs = false;
};

// What a rank's call gave: the `operation`-th of the scenario.
struct Output {
    uint32_t operation;
    uint32_t rank;
    Played played;
};

// When a rank made the `operation`-th call of the scenario, and what of it says who waited for whom and for how much.
struct CallRecord {
    uint32_t operation;
    uint32_t rank;
    uint64_t start_ns, end_ns;
    std::vector<int64_t> waits_us;     // performance_info after the call: by source
    std::vector<int32_t> recv_counts;  // ep_recv_counts; empty: a combine
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
    uint32_t num_ranks = 0;
    bool has_remote_row = false;  // some token is for an expert of another rank
    uint32_t num_survivors = 0;   // ranks of the communicator made after a failure; 0: none was made
    std::vector<std::string> conditions, features;
    std::string timed;              // which of the shapes that the benchmark times its calls have; empty: none
    std::vector<Output> outputs;    // where asked for
    std::vector<CallRecord> calls;  // where asked for
};

// Throws std::invalid_argument, one line, where a setting makes a scenario that cannot be run; so does run_seed.
Scenario make_scenario(uint64_t seed, const SeedOptions& options);

// A scenario that is complete, as make_scenario and tiny_world give it. `timeline_path`: as of SeedOptions. A search
// runs one hundreds of thousands of times, so nothing is derived here; has_remote_row and conditions are run_seed's.
SeedResult run_scenario(const Scenario& scenario, const std::string& timeline_path, const twin::KernelTable& kernels);
// As run_scenario, without a timeline, and with a record of every call.
SeedResult record_scenario(const Scenario& scenario, const twin::KernelTable& kernels);
SeedResult run_seed(uint64_t seed, const SeedOptions& options, const twin::KernelTable& kernels);

}  // namespace ascend_deepep::simulator
