// SPDX-License-Identifier: Apache-2.0
// DataCopy and DataCopyPad: bytes that move, units, and every limit with its legal neighbour.
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

TEST(negative_gm_stride) {
    GmArray<uint8_t, 128> from;
    std::iota(from.values, from.values + 128, uint8_t{0});
    run_kernel([&] {
        Scratch<uint8_t> scratch(64);
        DataCopyPad(scratch.tensor, from.tensor()[64], DataCopyExtParams{2, 32, -64, 0, 0},
                    DataCopyPadExtParams<uint8_t>{false, 0, 0, 0});
        sync<HardEvent::MTE2_S>();
        CHECK_EQ(scratch.data()[0], 64);
        CHECK_EQ(scratch.data()[32], 32);
    });
}

TEST(units_and_alignment) {
    GmArray<uint32_t, 64> gm;
    const auto load = [&](uint32_t at, uint32_t count) {
        Scratch<uint32_t> scratch(64);
        DataCopy(scratch.tensor[at], gm.tensor(), count);
    };
    CHECK_FAULT("whole 32 B blocks", load(0, 9));
    CHECK_FAULT("whole 32 B blocks", load(0, 0));
    CHECK_FAULT("multiple of 32 B", load(1, 8));
    run_kernel([&] { load(8, 8); });
    CHECK_FAULT("aligned to its element", Scratch<uint32_t> s(64); AscendC::GlobalTensor<uint32_t> odd;
                odd.SetGlobalBuffer(reinterpret_cast<uint32_t*>(reinterpret_cast<uint8_t*>(gm.values) + 2));
                DataCopy(s.tensor, odd, 8));
    const auto store = [&](uint32_t at, uint32_t bytes) {
        Scratch<uint32_t> scratch(64);
        DataCopyPad(gm.tensor(), scratch.tensor[at], DataCopyExtParams{1, bytes, 0, 0, 0});
    };
    CHECK_FAULT("multiple of 32 B", store(4, 8));
    CHECK_FAULT("whole elements", store(0, 6));
    run_kernel([&] { store(8, 12); });
}

TEST(block_counts_and_lengths) {
    static GmArray<uint8_t, 4095 * 32> gm;
    const auto load = [&](uint16_t blocks, uint32_t bytes) {
        Scratch<uint8_t> scratch(4095 * 32);
        DataCopyPad(scratch.tensor, gm.tensor(), DataCopyExtParams{blocks, bytes, 0, 0, 0},
                    DataCopyPadExtParams<uint8_t>{false, 0, 0, 0});
    };
    CHECK_FAULT("blockCount", load(0, 32));
    CHECK_FAULT("blockCount", load(4096, 32));
    CHECK_FAULT("blockLen", load(1, 0));
    CHECK_FAULT("blockLen", load(1, 2097152));
    run_kernel([&] { load(4095, 32); });
    CHECK_FAULT("blockCount", Scratch<uint8_t> s(64); DataCopy(s.tensor, gm.tensor(), DataCopyParams(0, 1, 0, 0)));
    CHECK_FAULT("blockLen", Scratch<uint8_t> s(64); DataCopy(s.tensor, gm.tensor(), DataCopyParams(1, 0, 0, 0)));
    CHECK_FAULT("at most 32 B a side", Scratch<uint8_t> s(128);
                DataCopyPad(s.tensor, gm.tensor(), DataCopyExtParams{1, 8, 0, 0, 0},
                            DataCopyPadExtParams<uint8_t>{true, 33, 0, 0}));
    CHECK_FAULT("padded with 0 only", GmArray<uint64_t, 8> words; Scratch<uint64_t> s(8);
                DataCopyPad(s.tensor, words.tensor(), DataCopyExtParams{1, 8, 0, 0, 0},
                            DataCopyPadExtParams<uint64_t>{true, 1, 0, 3}));
}

TEST(ranges_stay_in_their_buffer) {
    GmArray<uint32_t, 64> gm;
    const auto load = [&](uint32_t at, uint32_t count) {
        AscendC::TPipe pipe;
        AscendC::TBuf<> first;
        AscendC::TBuf<> second;
        pipe.InitBuffer(first, 128);
        pipe.InitBuffer(second, 128);
        DataCopy(first.Get<uint32_t>()[at], gm.tensor(), count);
    };
    CHECK_FAULT("UB range outside its buffer", load(16, 24));
    run_kernel([&] { load(16, 16); });
    CHECK_FAULT("past the end of the GlobalTensor", Scratch<uint32_t> s(128); DataCopy(s.tensor, gm.tensor(), 72));
    CHECK_FAULT("past the tensor's end", Scratch<uint32_t> s(8); s.tensor[9]);
    CHECK_FAULT("UB range outside", Scratch<uint32_t> s(8); s.tensor.SetValue(8, 1));
    run_kernel([] {
        Scratch<uint32_t> s(8);
        s.tensor.SetValue(7, 1);
        CHECK_EQ(s.tensor.GetValue(7), 1u);
    });
}

TEST(windows_go_through_the_hooks) {
    GmArray<uint8_t, 2048> window;
    TestHooks hooks;
    hooks.window_begin = window.values;
    hooks.window_end = window.values + sizeof(window.values);
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

TEST(sim_checks_gm_ranges) {
    GmArray<uint32_t, 64> gm;
    TestHooks hooks;
    hooks.forbidden = reinterpret_cast<const uint8_t*>(gm.values + 40);
    const auto load = [&](uint32_t count) {
        run_kernel(
            [&] {
                Scratch<uint32_t> scratch(64);
                DataCopy(scratch.tensor, gm.tensor(), count);
            },
            1, &hooks);
    };
    load(40);
    if (kIsSim) {
        CHECK_THROWS(KernelFault, "outside every known range", load(48));
    } else {
        load(48);
    }
}

}  // namespace ascend_deepep::twin_test
