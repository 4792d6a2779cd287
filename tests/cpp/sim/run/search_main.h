// SPDX-License-Identifier: Apache-2.0
// sim_run --search: all runs of a tiny world, or one of them by its delays. Layer: tests.
#pragma once

#include "simulator/search/search.h"

namespace ascend_deepep::simulator {

struct SearchArguments {
    SearchOptions options;
    std::string delays;  // of one run
    bool is_one_run = false;
    std::string timeline_path;
    std::string kernels;  // for lines that replay
};

// Prints what was found. Exit status: 0 all held and complete, 1 a run failed, 3 stopped before the end.
int run_search(const SearchArguments& arguments, const twin::KernelTable& kernels);

}  // namespace ascend_deepep::simulator
