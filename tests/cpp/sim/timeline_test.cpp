// SPDX-License-Identifier: Apache-2.0
// Recording a run leaves the run alone, and what was recorded hangs together. Layer: tests.
#include "twin/sim/timeline.h"
#include "check.h"
#include "framework/runtime/kernel_library.h"
#include "simulator/scenario/runner.h"

namespace ascend_deepep::test {
namespace {

using namespace simulator;
using sim::Timeline;

constexpr uint64_t kSeeds = 40;

// A host that only makes calls of actor numbers: what the recorder makes of hooks, without a world.
TEST(a_woken_core_is_tied_to_what_changed_its_line) {
    Timeline timeline;
    timeline.begin(1, 2);
    timeline.at(1, 5, 3);
    timeline.reads(1, 64, 8);
    timeline.sleeps(1, 6, {});
    timeline.turn_begins();
    timeline.at(2, 9, 4);
    timeline.changes(1, 256, 8, 7);  // a line that it does not watch
    timeline.changes(1, 64, 8, 7);
    timeline.looks(1, 12);
    timeline.end(20);
    CHECK_EQ(timeline.wake_ups().size(), size_t{1});
    const Timeline::WakeUp& wake_up = timeline.wake_ups().front();
    CHECK_EQ(wake_up.core, 1U);
    CHECK_EQ(wake_up.woken_core, 0U);
    CHECK_EQ(wake_up.at, uint64_t{9});
    CHECK_EQ(wake_up.woken_at, uint64_t{12});
    CHECK_EQ(timeline.waits().front().to, uint64_t{12});
    CHECK_EQ(timeline.stages().front().to, uint64_t{20});
}

TEST(a_recorder_leaves_the_fingerprint_alone) {
    const twin::KernelTable& kernels = kernel_table("sim");
    for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
        SeedOptions options;
        const SeedResult plain = run_seed(seed, options, kernels);
        options.timeline_path = "/dev/null";
        CHECK_EQ(run_seed(seed, options, kernels).hash, plain.hash);
        CHECK_EQ(run_seed(seed, options, kernels).hash, plain.hash);
    }
}

}  // namespace
}  // namespace ascend_deepep::test
