// SPDX-License-Identifier: Apache-2.0
// DataCopy and DataCopyPad: bytes that move, units and gaps.
// Layer: tests.
#include <numeric>

#include "tests/cpp/twin/kernel_fixture.h"

namespace ascend_deepep::twin_test {

using AscendC::DataCopy;
using AscendC::DataCopyExtParams;
using AscendC::DataCopyPad;
using AscendC::DataCopyPadExtParams;
using AscendC::DataCopyParams;
using AscendC::HardEvent;

TEST(count_copies_round_trip) {
    GmArray<uint32_t, 64> from;
    GmArray<uint32_t, 64> to;
    std::iota(from.values, from.values + 64, 1u);
    run_kernel([&] {
        Scratch<uint32_t> scratch(128);
        DataCopy(scratch.tensor, from.tensor(), 64);
        sync<HardEvent::MTE2_V>();
        DataCopy(scratch.tensor[64], scratch.tensor, 64);
        sync<HardEvent::V_MTE3>();
        DataCopy(to.tensor(), scratch.tensor[64], 64);
    });
    CHECK(std::equal(from.values, from.values + 64, to.values));
}

TEST(block_copies_count_gaps_from_end_to_start) {
    GmArray<uint8_t, 512> from;
    GmArray<uint8_t, 512> to;
    for (int i = 0; i < 512; ++i) {
        from.values[i] = static_cast<uint8_t>(i / 32);
    }
    run_kernel([&] {
        Scratch<uint8_t> scratch(512);
        DataCopy(scratch.tensor, from.tensor(), DataCopyParams(3, 2, 1, 0));  // blocks 0 1, 3 4, 6 7
        sync<HardEvent::MTE2_MTE3>();
        DataCopy(to.tensor(), scratch.tensor, DataCopyParams(3, 1, 1, 2));  // of them 0, 3, 6 to 0, 3, 6
    });
    CHECK_EQ(to.values[0], 0);
    CHECK_EQ(to.values[3 * 32], 3);
    CHECK_EQ(to.values[6 * 32], 6);
    CHECK_EQ(to.values[4 * 32], 0);
}

TEST(padded_copies_move_bytes) {
    GmArray<uint16_t, 64> from;
    GmArray<uint16_t, 64> to;
    std::iota(from.values, from.values + 64, uint16_t{100});
    run_kernel([&] {
        Scratch<uint16_t> scratch(64);
        // Two rows of 5 elements, 3 elements apart in GM; each is padded by 1 left and 2 right.
        DataCopyPad(scratch.tensor, from.tensor(), DataCopyExtParams{2, 10, 6, 1, 0},
                    DataCopyPadExtParams<uint16_t>{true, 1, 2, 7});
        sync<HardEvent::MTE2_S>();
        const uint16_t* ub = scratch.data();
        CHECK_EQ(ub[0], 7);
        CHECK_EQ(ub[1], 100);
        CHECK_EQ(ub[5], 104);
        CHECK_EQ(ub[6], 7);
        CHECK_EQ(ub[7], 7);
        CHECK_EQ(ub[33], 108);  // 32 B of row, then a gap of one block
        DataCopyPad(to.tensor(), scratch.tensor, DataCopyExtParams{2, 12, 1, 4, 0});
    });
    CHECK_EQ(to.values[0], 7);
    CHECK_EQ(to.values[5], 104);
    CHECK_EQ(to.values[6], 0);
    CHECK_EQ(to.values[8], 7);
    CHECK_EQ(to.values[9], 108);
    CHECK_EQ(to.values[14], 0);
}

TEST(a_negative_gm_stride_reads_the_same_block_again) {
    GmArray<uint8_t, 128> from;
    std::iota(from.values, from.values + 128, uint8_t{0});
    run_kernel([&] {
        Scratch<uint8_t> scratch(64);
        DataCopyPad(scratch.tensor, from.tensor()[64], DataCopyExtParams{2, 32, -32, 0, 0},
                    DataCopyPadExtParams<uint8_t>{false, 0, 0, 0});
        sync<HardEvent::MTE2_S>();
        CHECK_EQ(scratch.data()[1], 65);
        CHECK_EQ(scratch.data()[33], 65);
    });
}

TEST(windows_go_through_the_hooks) {
    GmArray<uint8_t, 2048> window;
    TestHooks hooks;
    hooks.windows = {window.values, sizeof(window.values), window.values, sizeof(window.values)};
    run_kernel(
        [&] {
            Scratch<uint8_t> scratch(1024);
            AscendC::Duplicate(scratch.tensor, uint8_t{5}, 1024);
            sync<HardEvent::V_MTE3>();
            DataCopy(window.tensor(), scratch.tensor, 1024);
            sync<HardEvent::MTE3_MTE2>();
            DataCopy(scratch.tensor, window.tensor()[512], 512);
        },
        1, &hooks);
    CHECK_EQ(hooks.window_writes.size(), 1u);
    CHECK_EQ(hooks.window_writes.at(0), 1024u);
    CHECK_EQ(hooks.window_reads.at(0), 512u);
    CHECK_EQ(window.values[1023], 5);
    CHECK_EQ(window.values[1024], 0);
}

}  // namespace ascend_deepep::twin_test
