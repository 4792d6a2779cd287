// SPDX-License-Identifier: Apache-2.0
// Roles of dispatch work at the same time: staging, building, ringing and collecting of one call, as its timeline has
// them. Layer: tests.
#include <algorithm>
#include <array>
#include <cstdio>

#include "check.h"
#include "framework/runtime/kernel_library.h"
#include "simulator/scenario/runner.h"
#include "twin/sim/costs.h"
#include "twin/sim/timeline.h"

namespace ascend_deepep::test {
namespace {

using namespace simulator;
using sim::Timeline;

constexpr uint64_t kSchedules = 4;

// What one rank did when; one dispatch.
struct Moments {
    uint64_t first_built = Timeline::kNever;  // the first stage of a builder behind its wait for the table
    uint64_t first_doorbell = Timeline::kNever;
    uint64_t last_doorbell = 0;
    uint64_t first_row = Timeline::kNever;
    uint64_t staging_begins = Timeline::kNever;
    uint64_t staging_ends = 0;
};

Moments moments_of(const Timeline& timeline, uint32_t rank) {
    Moments m;
    for (const Timeline::Stage& stage : timeline.stages()) {
        if (stage.rank != rank) continue;
        switch (static_cast<Stage>(stage.stage)) {
            case Stage::kStage:
                m.staging_begins = std::min(m.staging_begins, stage.from);
                m.staging_ends = std::max(m.staging_ends, stage.to);
                break;
            case Stage::kWqeBuilder:
                m.first_built = std::min(m.first_built, stage.from);
                break;
            case Stage::kCollect:
                m.first_row = std::min(m.first_row, stage.first_output);
                break;
            default:
                break;
        }
    }
    for (const Timeline::Doorbell& bell : timeline.doorbells()) {
        if (bell.rank != rank) continue;
        m.first_doorbell = std::min(m.first_doorbell, bell.at);
        m.last_doorbell = std::max(m.last_doorbell, bell.at);
    }
    return m;
}

// A good dispatch of all ranks in a world where nothing is slow or late.
Timeline dispatch_timeline(uint32_t ranks, uint32_t cores, uint32_t queues, uint64_t schedule) {
    SeedOptions options;
    options.schedule_seed = schedule;
    options.with_faults = false;
    options.settings = {{"ranks", std::to_string(ranks)},
                        {"cores", std::to_string(cores)},
                        {"max_tokens", "400"},
                        {"tokens", "400"},
                        {"max_hidden", "512"},
                        {"hidden", "512"},
                        {"experts", std::to_string(4 * ranks)},
                        {"max_experts", std::to_string(4 * ranks)},
                        {"topk", "4"},
                        {"max_topk", "4"},
                        {"operations", "D"},
                        {"second", "0"},
                        {"survivors", "0"},
                        {"uneven", "0"},
                        {"one_hot", "0"},
                        {"hole_one_in", "0"},
                        {"shared", "0"},
                        {"shared_ranks", "0"},
                        {"mask", "none"},
                        {"quant", "none"},
                        {"quant_scales", "none"},
                        {"dtype", "bf16"},
                        {"copies", "rank"},
                        {"depth", "64"},
                        {"queues", std::to_string(queues)},
                        {"drawn_roles", "0"},
                        {"run_bits", "2"},
                        {"delivery_ns", "1"},
                        {"wqe_ns", "1"},
                        {"completion_ns", "1"},
                        {"host_ns", "1"},
                        {"store_slots", "0"},
                        {"store_ns", "1"},
                        {"slow_shift", "0"},
                        {"pipe_shift", "0"},
                        {"piece_units", "15"},
                        {"evictions", "off"},
                        {"block_ns", "0"}};
    Scenario scenario = make_scenario(7, options);
    Timeline timeline;
    scenario.world.timeline = &timeline;
    static const sim::Costs costs;  // cores beside each other, each with a clock of its own
    scenario.world.costs = &costs;
    CHECK(run_scenario(scenario, "", kernel_table("sim")).findings.empty());
    return timeline;
}

// How many of all ranks of all runs.
struct Overlaps {
    uint32_t ranks = 0;
    uint32_t built = 0;  // WQEs before the last token was staged
    uint32_t rung = 0;   // a doorbell before the last token was staged
    uint32_t rows = 0;   // a row collected before the last doorbell

    void add(const Moments& m) {
        ++ranks;
        built += m.first_built < m.staging_ends ? 1 : 0;
        rung += m.first_doorbell < m.staging_ends ? 1 : 0;
        rows += m.first_row < m.last_doorbell ? 1 : 0;
    }
};

// Which core comes next is drawn, so one run says little; a role that waited for all of another would overlap in none.
TEST(no_role_waits_for_all_of_another) {
    for (const auto& [ranks, cores, queues] : {std::array<uint32_t, 3>{2, 8, 1}, {2, 16, 2}, {4, 16, 1}, {4, 12, 2}}) {
        Overlaps overlaps;
        for (uint64_t schedule = 1; schedule <= kSchedules; ++schedule) {
            const Timeline timeline = dispatch_timeline(ranks, cores, queues, schedule);
            for (uint32_t rank = 0; rank < ranks; ++rank)
                overlaps.add(moments_of(timeline, rank));
        }
        std::printf(
            "{\"ranks\": %u, \"cores\": %u, \"queues\": %u, \"dispatches\": %u, \"built\": %u, \"rung\": %u, "
            "\"rows\": %u}\n",
            ranks, cores, queues, overlaps.ranks, overlaps.built, overlaps.rung, overlaps.rows);
        for (const uint32_t overlapping : {overlaps.built, overlaps.rung, overlaps.rows})
            CHECK(3 * overlapping >= overlaps.ranks);
    }
}

}  // namespace
}  // namespace ascend_deepep::test
