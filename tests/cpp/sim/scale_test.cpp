// SPDX-License-Identifier: Apache-2.0
// Large worlds: exact, the same every time, with cores beside each other; and what a meter counts. Layer: tests.
#include "simulator/scale/scale_world.h"

#include <stdexcept>

#include "check.h"
#include "framework/runtime/kernel_library.h"
#include "simulator/scale/scale_layout.h"

namespace ascend_deepep::test {
namespace {

using namespace simulator;
using sim::Meter;

uint64_t sum_of(const Meter& meter, const Meter::Kernel& kernel, uint32_t rank, Meter::Count count) {
    uint64_t sum = 0;
    for (uint32_t core = 0; core < meter.num_cores(); ++core) {
        for (uint32_t stage = 0; stage < kNumStages; ++stage)
            sum += meter.of(kernel, rank, core, stage)[static_cast<uint32_t>(count)];
    }
    return sum;
}

ScaleResult run(uint32_t num_ranks, uint32_t num_cores, const sim::Costs& costs = {}) {
    ScaleOptions options;
    options.num_ranks = num_ranks;
    options.num_cores = num_cores;
    options.costs = costs;
    ScaleResult result = run_scale(options, kernel_table("sim"));
    for (const sim::Finding& finding : result.run.findings)
        check::fail(__FILE__, __LINE__, "[" + finding.checker + "] " + finding.what);
    return result;
}

TEST(sixteen_ranks_send_the_messages_and_copies_that_they_must) {
    const ScaleResult result = run(16, 8);
    CHECK_EQ(result.meter.kernels().size(), size_t{2});
    for (const Meter::Kernel& kernel : result.meter.kernels()) {
        for (uint32_t rank = 0; rank < 16; ++rank) {
            CHECK_EQ(kernel.calls[rank], uint64_t{2});
            CHECK_EQ(sum_of(result.meter, kernel, rank, Meter::Count::kPosted), uint64_t{2 * 16});
            CHECK_EQ(sum_of(result.meter, kernel, rank, Meter::Count::kRead), uint64_t{2 * 16});
            CHECK_EQ(sum_of(result.meter, kernel, rank, Meter::Count::kPostedBytes), uint64_t{2 * 16 * kBlockBytes});
            CHECK(sum_of(result.meter, kernel, rank, Meter::Count::kTagLoads) >= 2 * 16);
            CHECK_EQ(kernel.wqes[rank], kernel.name == "dispatch_v2" ? result.remote_copies[rank] : 0);
        }
    }
}

TEST(the_same_world_takes_the_same_time) {
    const ScaleResult first = run(4, 4), second = run(4, 4);
    CHECK_EQ(second.run.hash, first.run.hash);
    CHECK_EQ(second.run.virtual_ns, first.run.virtual_ns);
    CHECK_EQ(second.run.steps, first.run.steps);
}

// Had all cores one clock, as in worlds without costs, four times the ranks would take four times as long or more.
TEST(cores_work_beside_each_other) {
    CHECK(run(16, 8).run.virtual_ns < 3 * run(4, 8).run.virtual_ns);
}

TEST(a_dearer_load_makes_a_longer_call) {
    sim::Costs costs;
    const uint64_t before = run(4, 4, costs).run.virtual_ns;
    costs.load_ns *= 10;
    CHECK(run(4, 4, costs).run.virtual_ns > 2 * before);
}

// A core is somewhere all the time: what it has booked in the control page is the length of its call, and it waits for
// no more of it than there is.
TEST(stages_of_a_core_add_up) {
    const ScaleResult result = run(4, 6);
    for (const Meter::Kernel& kernel : result.meter.kernels()) {
        for (uint32_t rank = 0; rank < 4; ++rank) {
            for (uint32_t core = 0; core < 6; ++core) {
                uint64_t stage_ns = 0, wait_ns = 0;
                for (uint32_t stage = 0; stage < kNumStages; ++stage) {
                    const Meter::Counts& counts = result.meter.of(kernel, rank, core, stage);
                    stage_ns += counts[static_cast<uint32_t>(Meter::Count::kStageNs)];
                    wait_ns += counts[static_cast<uint32_t>(Meter::Count::kWaitNs)];
                }
                CHECK(stage_ns > 0 && stage_ns <= kernel.call_ns[rank]);
                CHECK(wait_ns <= stage_ns);
            }
        }
    }
}

// Recorded calls of one small world with a slow part.
std::vector<CallRecord> record(const sim::Handicap& handicap, uint64_t link_block_ns = 0) {
    ScaleOptions options;
    options.num_ranks = options.num_cores = 4;
    options.costs.link_block_ns = link_block_ns;
    options.has_calls = true;
    options.handicap = handicap;
    const ScaleResult result = run_scale(options, kernel_table("sim"));
    for (const sim::Finding& finding : result.run.findings)
        check::fail(__FILE__, __LINE__, "[" + finding.checker + "] " + finding.what);
    return result.run.calls;
}

const CallRecord& call_of(const std::vector<CallRecord>& calls, uint32_t operation, uint32_t rank) {
    for (const CallRecord& call : calls) {
        if (call.operation == operation && call.rank == rank) return call;
    }
    throw std::runtime_error("no such call");
}

TEST(records_say_who_was_waited_for_and_what_came) {
    const std::vector<CallRecord> calls = record({});
    CHECK_EQ(calls.size(), size_t{4 * 4});
    for (const CallRecord& call : calls) {
        CHECK(call.start_ns < call.end_ns);
        CHECK_EQ(call.waits_us.size(), size_t{4});
        for (int64_t us : call.waits_us)
            CHECK(0 <= us && static_cast<uint64_t>(us) * 1000 <= call.end_ns - call.start_ns);
        CHECK_EQ(call.recv_counts.size(), size_t{call.operation % 2 == 0 ? 64U * 4 : 0});
    }
    int32_t rows = 0;
    for (uint32_t rank = 0; rank < 4; ++rank)
        rows += call_of(calls, 0, rank).recv_counts.back();
    CHECK_EQ(rows, 4 * 8 * 8);
}

TEST(a_late_entry_is_waited_for_by_all) {
    sim::Handicap handicap;
    handicap.kind = sim::Handicap::Kind::kEntry;
    handicap.rank = 2;
    handicap.ns = 700'000;
    const std::vector<CallRecord> calls = record(handicap);
    for (uint32_t operation : {0U, 2U}) {  // dispatches
        for (uint32_t rank : {0U, 1U, 3U}) {
            CHECK(call_of(calls, operation, 2).start_ns >= call_of(calls, operation, rank).start_ns + 600'000);
            CHECK(call_of(calls, operation, rank).waits_us[2] >= 600);
        }
        CHECK(call_of(calls, operation, 2).waits_us[0] < 100);
    }
}

TEST(a_core_that_stands_still_makes_its_rank_slow_inside) {
    sim::Handicap handicap;
    handicap.kind = sim::Handicap::Kind::kCore;
    handicap.rank = 1;
    handicap.ns = 700'000;
    for (handicap.core = 0; handicap.core < 4; ++handicap.core) {
        const std::vector<CallRecord> calls = record(handicap);
        for (uint32_t operation = 0; operation < 4; ++operation) {
            const CallRecord& call = call_of(calls, operation, 1);
            CHECK(call.end_ns - call.start_ns >= 700'000);
        }
    }
}

TEST(a_slow_link_is_waited_for_at_its_end) {
    sim::Handicap handicap;
    handicap.kind = sim::Handicap::Kind::kLink;
    handicap.rank = 3;
    handicap.peer = 0;
    handicap.times = 20;
    const std::vector<CallRecord> slow = record(handicap, 5'000), even = record({}, 5'000);
    CHECK(call_of(slow, 0, 0).waits_us[3] > 5 * call_of(even, 0, 0).waits_us[3]);
    CHECK(call_of(slow, 0, 1).waits_us[3] <= 2 * call_of(even, 0, 1).waits_us[3]);
}

TEST(links_that_cost_something_make_bytes_take_time) {
    sim::Costs costs;
    const uint64_t unlimited_ns = run(4, 4, costs).run.virtual_ns;
    costs.link_block_ns = 20'000;
    CHECK(run(4, 4, costs).run.virtual_ns > 2 * unlimited_ns);
}

TEST(worlds_that_cannot_be_are_refused_by_one_line) {
    ScaleOptions options;
    options.num_experts = 257;
    CHECK_THROWS(std::invalid_argument, "num_experts = 257", run_scale(options, kernel_table("sim")));
    options = {};
    options.num_ranks = 512;
    options.num_experts = 1024;
    CHECK_THROWS(std::invalid_argument, "ranks of a large world 512 is outside [2, 256]",
                 run_scale(options, kernel_table("sim")));
    options = {};
    options.costs.load_ns = 0;
    CHECK_THROWS(std::invalid_argument, "load_ns 0 is outside", run_scale(options, kernel_table("sim")));
    options = {};
    options.handicap.kind = sim::Handicap::Kind::kLink;
    options.handicap.peer = 16;
    CHECK_THROWS(std::invalid_argument, "peer of the slow link 16 is outside [0, 15]",
                 run_scale(options, kernel_table("sim")));
    CHECK_THROWS(std::invalid_argument, "num_ranks = 2048",
                 scale_layout({2048, 8, 64, 8, 2048, 0}, 8, CombineEngine::kMte));
}

}  // namespace
}  // namespace ascend_deepep::test
