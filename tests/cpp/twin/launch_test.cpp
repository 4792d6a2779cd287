// SPDX-License-Identifier: Apache-2.0
// Launching: cores, rounds, idle, scalar GM words, doorbells, exceptions, reuse.
// Layer: tests.
#include <thread>

#include "tests/cpp/twin/kernel_fixture.h"

namespace ascend_deepep::twin_test {

TEST(every_core_runs_once) {
    for (uint32_t cores : {1u, 2u, 72u}) {
        std::vector<int> seen(cores, 0);
        run_kernel(
            [&] {
                CHECK_EQ(AscendC::GetBlockNum(), static_cast<int64_t>(cores));
                ++seen.at(static_cast<size_t>(AscendC::GetBlockIdx()));
            },
            cores);
        for (int count : seen) {
            CHECK_EQ(count, 1);
        }
    }
}

TEST(cores_take_turns_at_polls) {
    GmArray<uint32_t, 8> turn;
    std::vector<uint32_t> order;
    TestHooks hooks;
    run_kernel(
        [&] {
            const auto me = static_cast<uint32_t>(AscendC::GetBlockIdx());
            for (uint32_t round = 0; round < 3; ++round) {
                while (AscendC::ReadGmByPassDCache(turn.values) != round * 4 + (3 - me)) {
                    port::poll_pause();
                }
                order.push_back(3 - me);
                AscendC::WriteGmByPassDCache(turn.values, round * 4 + (3 - me) + 1);
            }
        },
        4, &hooks);
    CHECK_EQ(order.size(), 12u);
    for (uint32_t i = 0; i < order.size(); ++i) {
        CHECK_EQ(order[i], i % 4);
    }
    CHECK_EQ(hooks.idles, 0u);
}

TEST(idle_only_after_a_round_of_polls) {
    TestHooks hooks;
    GmArray<uint64_t, 8> words;
    hooks.on_idle = [&] { words.values[0] = hooks.idles == 3 ? 1 : 0; };
    run_kernel(
        [&] {
            while (AscendC::ReadGmByPassDCache(words.values) == 0) {
                port::poll_pause();
            }
        },
        5, &hooks);
    CHECK_EQ(hooks.idles, 3u);
    CHECK(hooks.steps >= 3);

    TestHooks busy;
    run_kernel(
        [&] {
            for (int i = 0; i < 10; ++i) {
                if (AscendC::GetBlockIdx() == 2) {
                    AscendC::AtomicAdd<uint64_t>(words.values + 1, 1);
                }
                port::poll_pause();
            }
        },
        3, &busy);
    CHECK_EQ(busy.idles, 0u);
    CHECK_EQ(words.values[1], 10u);
}

TEST(a_core_that_returns_leaves_the_ring) {
    int polls = 0;
    run_kernel(
        [&] {
            for (int64_t i = 0; i < AscendC::GetBlockIdx() * 5; ++i) {
                ++polls;
                port::poll_pause();
            }
        },
        4);
    CHECK_EQ(polls, 30);
}

TEST(doorbells_go_to_the_device) {
    GmArray<uint64_t, 8> words;
    TestHooks hooks;
    hooks.device_register = words.values + 1;
    run_kernel(
        [&] {
            AscendC::WriteGmByPassDCache(words.values, uint64_t{3});
            AscendC::WriteGmByPassDCache(words.values + 1, uint64_t{9});
        },
        1, &hooks);
    CHECK_EQ(words.values[0], 3u);
    CHECK_EQ(words.values[1], 0u);
    CHECK_EQ(hooks.register_value, 9u);
}

TEST(scalar_atomics) {
    GmArray<uint64_t, 8> words;
    GmArray<float, 8> sum;
    GmArray<int32_t, 8> low;
    run_kernel(
        [&] {
            AscendC::AtomicAdd(words.values, uint64_t{2});
            AscendC::AtomicMax(words.values + 1, static_cast<uint64_t>(AscendC::GetBlockIdx()));
            AscendC::AtomicMin(low.values, static_cast<int32_t>(-AscendC::GetBlockIdx()));
            AscendC::AtomicAdd(sum.values, 0.25f);
            if (AscendC::GetBlockIdx() == 0) {
                CHECK_EQ(AscendC::AtomicExch(words.values + 2, uint64_t{7}), 0u);
                CHECK_EQ(AscendC::AtomicCas(words.values + 2, uint64_t{6}, uint64_t{1}), 7u);
                CHECK_EQ(AscendC::AtomicCas(words.values + 2, uint64_t{7}, uint64_t{1}), 7u);
            }
        },
        8);
    CHECK_EQ(words.values[0], 16u);
    CHECK_EQ(words.values[1], 7u);
    CHECK_EQ(words.values[2], 1u);
    CHECK_EQ(low.values[0], -7);
    CHECK_EQ(sum.values[0], 2.0f);
}

TEST(a_fault_ends_the_launch_and_names_the_core) {
    int64_t others = 0;
    const auto broken = [&] {
        run_kernel(
            [&] {
                if (AscendC::GetBlockIdx() == 3) {
                    port::poll_pause();
                    AscendC::WaitFlag<AscendC::HardEvent::V_S>(2);
                }
                Scratch<uint32_t> scratch(64);
                for (;;) {
                    ++others;
                    port::poll_pause();
                }
            },
            6);
    };
    for (int i = 0; i < 3; ++i) {
        CHECK_THROWS(KernelFault, "test_kernel, core 3: WaitFlag", broken());
        run_kernel([] { Scratch<uint32_t> scratch(64); }, 8);
    }
    CHECK(others > 0);
    try {
        broken();
    } catch (const KernelFault& fault) {
        CHECK_EQ(fault.core(), 3);
        CHECK_EQ(fault.info().value, 2u);
    }
}

TEST(a_hook_may_end_the_launch) {
    TestHooks hooks;
    hooks.on_idle = [&] {
        if (hooks.idles == 10) {
            throw std::runtime_error("interrupted");
        }
    };
    CHECK_THROWS(std::runtime_error, "interrupted",
                 run_kernel(
                     [] {
                         Scratch<uint32_t> scratch(64);
                         for (;;) {
                             port::poll_pause();
                         }
                     },
                     3, &hooks));
    run_kernel([] {}, 3);
}

TEST(threads_launch_side_by_side) {
    GmArray<uint64_t, 8> words;
    const auto rank = [&](uint64_t me) {
        for (uint64_t round = 0; round < 50; ++round) {
            run_kernel(
                [&] {
                    while (AscendC::ReadGmByPassDCache(words.values) < 2 * round + me) {
                        port::poll_pause();
                    }
                    if (AscendC::GetBlockIdx() == AscendC::GetBlockNum() - 1) {
                        AscendC::AtomicAdd<uint64_t>(words.values, 1);
                    }
                },
                1 + static_cast<uint32_t>(round % 3));
        }
    };
    std::thread other(rank, 1);
    rank(0);
    other.join();
    CHECK_EQ(words.values[0], 100u);
}

TEST(system_cycle_is_nanoseconds) {
    const int64_t before = AscendC::GetSystemCycle();
    int64_t after = before;
    while (after - before < 1000000) {
        after = AscendC::GetSystemCycle();
    }
    CHECK(after > before);
}

}  // namespace ascend_deepep::twin_test
