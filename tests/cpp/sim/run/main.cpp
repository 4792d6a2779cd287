// SPDX-License-Identifier: Apache-2.0
// sim_run: seeds of the simulator from the command line, against the kernels of this build or of any module. Layer:
// tests. One line a failure, with the command that replays it. Exit status: 0 all held, 1 some seed failed, 2 not run.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <stdexcept>
#include <string>

#include "framework/runtime/kernel_library.h"
#include "search_main.h"
#include "simulator/scenario/summary.h"

namespace {

using namespace ascend_deepep;
using namespace ascend_deepep::simulator;

struct Arguments {
    uint64_t first = 1, last = 100;  // both included
    std::string kernels;
    std::string dropped;
    bool is_verbose = false;
    uint32_t max_failures = 10;
    SeedOptions options;
    bool is_search = false;
    SearchArguments search;
};

constexpr const char* kUsage =
    "usage: sim_run [--seeds A..B | --seed S] [--kernels MODULE.so] [--no-faults | --fault NAME]\n"
    "               [--drop SWITCH]... [--max-failures N] [--trace FILE.json] [--verbose]\n"
    "       sim_run --search WORLD [--tokens N] [--bound N] [--max-runs N] [--max-seconds N] [--kernels MODULE.so]\n"
    "               [--drop SWITCH]... [--max-failures N] [--delays LIST [--trace FILE.json]]\n";

uint64_t number(const std::string& text) {
    size_t end = 0;
    const uint64_t value = std::stoull(text, &end);
    if (end != text.size()) throw std::invalid_argument(text);
    return value;
}

void set_seeds(const std::string& text, Arguments* arguments) {
    const size_t dots = text.find("..");
    arguments->first = number(text.substr(0, dots));
    arguments->last = dots == std::string::npos ? arguments->first : number(text.substr(dots + 2));
    if (arguments->last < arguments->first) throw std::invalid_argument(text);
}

void drop(const std::string& name, Arguments* arguments) {
    arguments->dropped += " --drop " + name;
    if (!sim::drop_switch(name, &arguments->options.assumptions)) throw std::invalid_argument(name);
}

// True when the option is one of a search.
bool set_search(const std::string& name, const std::string& value, Arguments* arguments) {
    SearchArguments& search = arguments->search;
    if (name == "--search") {
        arguments->is_search = true;
        search.options.world = value;
    } else if (name == "--tokens") {
        search.options.num_tokens = static_cast<uint32_t>(number(value));
    } else if (name == "--bound") {
        search.options.bound = static_cast<uint32_t>(number(value));
    } else if (name == "--max-runs") {
        search.options.max_runs = number(value);
    } else if (name == "--max-seconds") {
        search.options.max_seconds = static_cast<double>(number(value));
    } else if (name == "--delays") {
        search.delays = value;
        search.is_one_run = true;
    } else {
        return false;
    }
    return true;
}

Arguments parse(int argc, char** argv) {
    Arguments arguments;
    for (int i = 1; i < argc; ++i) {
        const std::string name = argv[i];
        if (name == "--no-faults") {
            arguments.options.with_faults = false;
        } else if (name == "--verbose") {
            arguments.is_verbose = true;
        } else if (i + 1 == argc) {
            throw std::invalid_argument(name);
        } else if (set_search(name, argv[i + 1], &arguments)) {
            ++i;
        } else if (name == "--seeds" || name == "--seed") {
            set_seeds(argv[++i], &arguments);
        } else if (name == "--kernels") {
            arguments.kernels = argv[++i];
        } else if (name == "--drop") {
            drop(argv[++i], &arguments);
        } else if (name == "--fault") {
            arguments.options.forced = sim::sim_fault_from_name(argv[++i]);
            if (arguments.options.forced == sim::SimFault::kCount) throw std::invalid_argument(argv[i]);
        } else if (name == "--trace") {
            arguments.options.timeline_path = argv[++i];
        } else if (name == "--max-failures") {
            arguments.max_failures = static_cast<uint32_t>(number(argv[++i]));
        } else {
            throw std::invalid_argument(name);
        }
    }
    if (!arguments.options.timeline_path.empty() && !arguments.is_search && arguments.first != arguments.last)
        throw std::invalid_argument("--trace is of one --seed");
    return arguments;
}

std::string replay(const Arguments& arguments, uint64_t seed) {
    std::string text = "sim_run --seed " + std::to_string(seed) + arguments.dropped;
    if (!arguments.options.with_faults) text += " --no-faults";
    if (arguments.options.forced != sim::SimFault::kNone) {
        text += " --fault " + std::string(sim::sim_fault_name(arguments.options.forced));
    }
    if (!arguments.kernels.empty()) text += " --kernels " + arguments.kernels;
    return text;
}

void print(const Arguments& arguments, uint64_t seed, const SeedResult& result) {
    if (arguments.is_verbose) {
        std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed),
                    describe(draw_scenario(seed, arguments.options.with_faults, arguments.options.forced)).c_str());
        std::printf("seed %llu: hash %016llx steps %llu events %llu writes %llu virtual ns %llu failed calls %u%s\n",
                    static_cast<unsigned long long>(seed), static_cast<unsigned long long>(result.hash),
                    static_cast<unsigned long long>(result.steps), static_cast<unsigned long long>(result.events),
                    static_cast<unsigned long long>(result.writes), static_cast<unsigned long long>(result.virtual_ns),
                    result.failures, result.has_struck ? " struck" : "");
    }
    if (result.findings.empty()) return;
    const sim::Finding& finding = result.findings.front();
    std::printf("FAILED seed %llu [%s] %s; replay: %s\n", static_cast<unsigned long long>(seed),
                finding.checker.c_str(), finding.what.c_str(), replay(arguments, seed).c_str());
    std::fflush(stdout);
}

int run(const Arguments& arguments) {
    if (!arguments.kernels.empty()) ::setenv("ASCEND_DEEPEP_KERNELS", arguments.kernels.c_str(), 1);
    const twin::KernelTable& kernels = kernel_table("sim");
    if (std::strcmp(kernels.policy, "Sim") != 0) {
        throw std::runtime_error(std::string("the module is compiled for the policy ") + kernels.policy +
                                 ", the simulator needs Sim");
    }
    if (arguments.is_search) {
        SearchArguments search = arguments.search;
        search.options.assumptions = arguments.options.assumptions;
        search.options.max_failures = arguments.max_failures;
        search.timeline_path = arguments.options.timeline_path;
        search.kernels = arguments.kernels;
        return run_search(search, kernels);
    }
    std::set<uint64_t> hashes;
    Summary summary;
    uint64_t seeds = 0, failures = 0, steps = 0, struck = 0, failed_calls = 0;
    const auto start = std::chrono::steady_clock::now();
    for (uint64_t seed = arguments.first; seed <= arguments.last && failures < arguments.max_failures; ++seed) {
        const SeedResult result = run_seed(seed, arguments.options, kernels);
        print(arguments, seed, result);
        hashes.insert(result.hash);
        summary.add(result);
        ++seeds;
        steps += result.steps;
        struck += result.has_struck ? 1 : 0;
        failed_calls += result.failures;
        failures += result.findings.empty() ? 0 : 1;
    }
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    std::printf("seeds %llu failures %llu distinct %zu faults struck %llu failed calls %llu steps %llu %.1f seeds/s\n",
                static_cast<unsigned long long>(seeds), static_cast<unsigned long long>(failures), hashes.size(),
                static_cast<unsigned long long>(struck), static_cast<unsigned long long>(failed_calls),
                static_cast<unsigned long long>(steps), static_cast<double>(seeds) / seconds);
    std::fputs(summary.text().c_str(), stdout);
    return failures == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    Arguments arguments;
    try {
        arguments = parse(argc, argv);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "sim_run: bad or incomplete argument: %s\n%s", error.what(), kUsage);
        return 2;
    }
    try {
        return run(arguments);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "sim_run: %s\n", error.what());
        return 2;
    }
}
