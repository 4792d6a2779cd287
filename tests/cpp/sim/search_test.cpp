// SPDX-License-Identifier: Apache-2.0
// The bounded search: what it says it ran it ran, a list of delays is one run, and the kernels hold. Layer: tests.
#include "simulator/search/search.h"

#include <stdexcept>

#include "check.h"
#include "framework/runtime/kernel_library.h"
#include "simulator/search/tiny_world.h"

namespace ascend_deepep::test {
namespace {

using namespace simulator;
using sim::Delay;

const twin::KernelTable& kernels() {
    return kernel_table("sim");
}

SearchOptions options_of(const char* world, uint32_t bound) {
    SearchOptions options;
    options.world = world;
    options.bound = bound;
    return options;
}

void check_holds(const SearchResult& result) {
    CHECK(result.is_complete);
    for (const SearchFailure& failure : result.failures)
        check::fail(__FILE__, __LINE__, "delays " + failure.delays + " [" + failure.checker + "] " + failure.text);
}

TEST(every_single_delay_of_every_tiny_world_is_withstood) {
    for (const std::string& world : search_worlds()) {
        const SearchResult result = search(options_of(world.c_str(), 1), kernels());
        check_holds(result);
        CHECK(result.runs > 500);
        CHECK(result.states * 2 > result.runs);  // most delays change the run
    }
}

TEST(a_search_takes_the_same_runs_again) {
    const SearchResult first = search(options_of("dispatch", 1), kernels());
    const SearchResult again = search(options_of("dispatch", 1), kernels());
    CHECK_EQ(again.runs, first.runs);
    CHECK_EQ(again.replayed, first.replayed);
    CHECK_EQ(again.states, first.states);
}

TEST(a_list_of_delays_is_one_run) {
    const SearchOptions options = options_of("combine-urma", 2);
    const uint64_t plain = replay(options, {}, "", kernels()).hash;
    uint64_t changed = 0;
    for (uint32_t point = 0; point < 400; point += 40) {
        const std::vector<sim::DelayAt> delays{{point, Delay::kBehind}, {point + 7, Delay::kLast}};
        const uint64_t hash = replay(options, delays, "", kernels()).hash;
        CHECK_EQ(replay(options, delays, "/dev/null", kernels()).hash, hash);
        changed += hash != plain ? 1 : 0;
    }
    CHECK(changed > 5);
}

// Without A1 one delay is enough: the data of a block comes after its flag.
TEST(a_search_finds_what_one_delay_breaks) {
    SearchOptions options = options_of("dispatch", 1);
    options.assumptions.flags_after_data = false;
    const SearchResult result = search(options, kernels());
    CHECK(!result.is_complete);
    CHECK_EQ(result.failures.size(), size_t{1});
    CHECK_EQ(result.failures.front().checker, std::string("unwritten"));
    const SeedResult again = replay(options, parse_delays(result.failures.front().delays), "", kernels());
    CHECK_EQ(again.findings.front().what, result.failures.front().text);
}

TEST(a_budget_stops_a_search_and_it_says_so) {
    SearchOptions options = options_of("dispatch", 2);
    options.max_runs = 50;
    const SearchResult result = search(options, kernels());
    CHECK(!result.is_complete);
    CHECK_EQ(result.replayed, uint64_t{50});
}

TEST(delays_are_read_as_they_are_written) {
    const std::string text = "3,17l,18p,203t";
    CHECK_EQ(delays_text(parse_delays(text)), text);
    CHECK(parse_delays("").empty());
    for (const char* bad : {"x", "3x", "3ll", "5,4", "4,4", "3,,4", "-1"})
        CHECK_THROWS(std::invalid_argument, "delay", parse_delays(bad));
}

TEST(what_cannot_be_searched_is_refused) {
    CHECK_THROWS(std::invalid_argument, "there is no world 'nothing'", search(options_of("nothing", 1), kernels()));
    CHECK_THROWS(std::invalid_argument, "1 or 2 tokens", tiny_world("dispatch", 3));
    const std::vector<sim::DelayAt> beyond{{1000000, Delay::kLast}};
    CHECK_THROWS(std::invalid_argument, "no such points", replay(options_of("dispatch", 1), beyond, "", kernels()));
}

}  // namespace
}  // namespace ascend_deepep::test
