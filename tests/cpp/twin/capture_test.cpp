// SPDX-License-Identifier: Apache-2.0
// What a launch tells whoever watches it: waits with their reasons, turns, idle rounds. Layer: tests.
#include "twin/runtime/capture.h"

#include <thread>

#include "tests/cpp/twin/kernel_fixture.h"

namespace ascend_deepep::twin_test {
namespace {

using twin::Capture;
using twin::CaptureEvent;
using twin::CaptureKind;

struct WatchedHooks : TestHooks {
    Capture watcher;
    explicit WatchedHooks(uint64_t events) : watcher(events) {}
    Capture* capture() override { return &watcher; }

    std::vector<CaptureEvent> of_kind(CaptureKind kind) const {
        std::vector<CaptureEvent> found;
        for (const CaptureEvent& event : watcher.events()) {
            if (event.kind == kind) found.push_back(event);
        }
        return found;
    }
};

void pause(uint32_t stage, uint32_t peer) {
    port::poll_pause(stage, peer, static_cast<uint64_t>(AscendC::GetSystemCycle()));
}

}  // namespace

TEST(looks_that_follow_each_other_are_one_wait) {
    GmArray<uint64_t, 16> words;
    WatchedHooks hooks(100);
    run_kernel(
        [&] {
            if (AscendC::GetBlockIdx() == 1) {
                for (int turn = 0; turn < 4; ++turn)
                    pause(9, 1);
                std::this_thread::sleep_for(std::chrono::milliseconds(2));
                AscendC::WriteGmByPassDCache(words.values, uint64_t{1});
                return;
            }
            while (AscendC::ReadGmByPassDCache(words.values) == 0)
                pause(5, 7);
            AscendC::WriteGmByPassDCache(words.values + 8, uint64_t{1});
            pause(5, 7);
            pause(5, 8);
        },
        2, &hooks);
    std::vector<CaptureEvent> mine;
    for (const CaptureEvent& wait : hooks.of_kind(CaptureKind::kWait)) {
        if (wait.core == 0) mine.push_back(wait);
    }
    // The wait for the word; behind the store another one, for the same; then one for another peer.
    CHECK_EQ(mine.size(), 3u);
    CHECK_EQ(mine[0].stage, 5u);
    CHECK_EQ(mine[0].peer, 7u);
    CHECK(mine[0].to_ns - mine[0].from_ns >= 2'000'000);
    CHECK_EQ(mine[1].peer, 7u);
    CHECK_EQ(mine[2].peer, 8u);
    CHECK(mine[0].to_ns <= mine[1].from_ns && mine[1].to_ns <= mine[2].from_ns);
}

TEST(rounds_of_polls_alone_are_idle) {
    GmArray<uint64_t, 8> words;
    WatchedHooks hooks(100);
    hooks.on_idle = [&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        words.values[0] = hooks.idles == 3 ? 1 : 0;
    };
    run_kernel(
        [&] {
            while (AscendC::ReadGmByPassDCache(words.values) == 0)
                pause(1, 2);
        },
        3, &hooks);
    const auto idles = hooks.of_kind(CaptureKind::kIdle);
    CHECK_EQ(idles.size(), 1u);  // three rounds, nothing between them
    CHECK(idles[0].to_ns - idles[0].from_ns >= 3'000'000);
    CHECK_EQ(hooks.of_kind(CaptureKind::kWait).size(), 3u);
}

TEST(stages_close_each_other_and_the_launch_the_last_one) {
    WatchedHooks hooks(100);
    run_kernel(
        [&] {
            hooks.watcher.enters(0, 1);
            pause(1, 0);
            hooks.watcher.enters(0, 2);
        },
        1, &hooks);
    const auto stages = hooks.of_kind(CaptureKind::kStage);
    CHECK_EQ(stages.size(), 2u);
    CHECK(stages[0].to_ns == stages[1].from_ns && stages[1].from_ns <= stages[1].to_ns);
    const auto waits = hooks.of_kind(CaptureKind::kWait);
    CHECK_EQ(waits.size(), 1u);
    CHECK(stages[0].from_ns <= waits[0].from_ns && waits[0].to_ns <= stages[0].to_ns);
}

TEST(events_without_room_are_counted) {
    WatchedHooks hooks(2);
    run_kernel(
        [&] {
            for (uint32_t stage = 1; stage <= 5; ++stage)
                hooks.watcher.enters(0, stage);
        },
        1, &hooks);
    CHECK_EQ(hooks.watcher.events().size(), 2u);
    CHECK_EQ(hooks.watcher.dropped(), 3u);
}

TEST(a_launch_that_ends_with_a_fault_closes_its_spans) {
    WatchedHooks hooks(100);
    bool has_thrown = false;
    try {
        run_kernel(
            [&] {
                hooks.watcher.enters(static_cast<uint32_t>(AscendC::GetBlockIdx()), 3);
                pause(3, 0);
                if (AscendC::GetBlockIdx() == 1) twin::raise_fault({"test", &rules::kGmKnownRange, 1, 0, "nothing"});
                pause(3, 0);
            },
            2, &hooks);
    } catch (const KernelFault&) {
        has_thrown = true;
    }
    CHECK(has_thrown);
    CHECK_EQ(hooks.of_kind(CaptureKind::kStage).size(), 2u);
    CHECK_EQ(hooks.watcher.num_launches(), 1u);
}

}  // namespace ascend_deepep::twin_test
