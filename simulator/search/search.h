// SPDX-License-Identifier: Apache-2.0
// All runs of a tiny world in which at most a few things are put off: not drawn, but enumerated. Layer: simulator;
// docs/twin.md, "Search". The world has two ranks of kMinCores cores, no fault, rows of one block.
// A run is a list of delays and replays from it. The search is complete when every list within the bound was run.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "simulator/scenario/runner.h"

namespace ascend_deepep::simulator {

struct SearchOptions {
    std::string world = "dispatch";  // of search_worlds()
    uint32_t num_tokens = 1;         // of each rank: 1 or 2
    uint32_t bound = 2;              // delays in a run
    uint64_t max_runs = 0;           // 0: no limit
    double max_seconds = 0;          // 0: no limit
    uint32_t max_failures = 1;
    sim::Assumptions assumptions;
    std::function<void(uint64_t runs)> on_progress;  // now and then; what it throws ends the search
    std::function<void(const std::vector<sim::DelayAt>& delays)> on_run;  // before each run
};

struct SearchFailure {
    std::string checker, text;
    std::string delays;  // as parse_delays() takes them
};

struct SearchResult {
    uint64_t runs = 0;      // different lists of delays, of the last pass
    uint64_t replayed = 0;  // all worlds run: what passes before it ran with fewer points included
    uint64_t points = 0;    // of the run without delays
    uint64_t states = 0;    // different fingerprints among the runs
    uint32_t bound = 0;
    bool is_complete = false;
    double seconds = 0;
    std::vector<SearchFailure> failures;
};

const std::vector<std::string>& search_worlds();

// "17,203l": points, each with how it is put off: nothing behind the others, l until nothing else can move, p after the
// core's own pipes, t a load is torn. Throws std::invalid_argument.
std::vector<sim::DelayAt> parse_delays(const std::string& text);
std::string delays_text(const std::vector<sim::DelayAt>& delays);

// Throw std::invalid_argument, one line, for a world that does not exist.
SearchResult search(const SearchOptions& options, const twin::KernelTable& kernels);
// One run of it. `timeline_path`: as of SeedOptions.
SeedResult replay(const SearchOptions& options, const std::vector<sim::DelayAt>& delays,
                  const std::string& timeline_path, const twin::KernelTable& kernels);

}  // namespace ascend_deepep::simulator
