// SPDX-License-Identifier: Apache-2.0
// Layer: tests.
#include "search_main.h"

#include <cstdio>

namespace ascend_deepep::simulator {
namespace {

unsigned long long number(uint64_t value) {
    return value;
}

void print_failure(const SearchArguments& arguments, const std::string& checker, const std::string& text,
                   const std::string& delays) {
    const std::string kernels = arguments.kernels.empty() ? "" : " --kernels " + arguments.kernels;
    std::printf("FAILED delays %s [%s] %s; replay: sim_run --search %s --tokens %u --delays '%s'%s\n", delays.c_str(),
                checker.c_str(), text.c_str(), arguments.options.world.c_str(), arguments.options.num_tokens,
                delays.c_str(), kernels.c_str());
}

int run_once(const SearchArguments& arguments, const twin::KernelTable& kernels) {
    const SeedResult result =
        replay(arguments.options, parse_delays(arguments.delays), arguments.timeline_path, kernels);
    std::printf("world %s delays '%s' hash %016llx steps %llu events %llu\n", arguments.options.world.c_str(),
                arguments.delays.c_str(), number(result.hash), number(result.steps), number(result.events));
    if (result.findings.empty()) return 0;
    print_failure(arguments, result.findings.front().checker, result.findings.front().what, arguments.delays);
    return 1;
}

}  // namespace

int run_search(const SearchArguments& arguments, const twin::KernelTable& kernels) {
    if (arguments.is_one_run) return run_once(arguments, kernels);
    const SearchResult result = search(arguments.options, kernels);
    for (const SearchFailure& failure : result.failures)
        print_failure(arguments, failure.checker, failure.text, failure.delays);
    std::printf(
        "world %s tokens %u bound %u: runs %llu (replayed %llu) points %llu different %llu %s %.1f s "
        "%.0f runs/s failures %zu\n",
        arguments.options.world.c_str(), arguments.options.num_tokens, result.bound, number(result.runs),
        number(result.replayed), number(result.points), number(result.states),
        result.is_complete ? "complete" : "stopped", result.seconds,
        static_cast<double>(result.replayed) / result.seconds, result.failures.size());
    if (!result.failures.empty()) return 1;
    return result.is_complete ? 0 : 3;
}

}  // namespace ascend_deepep::simulator
