// SPDX-License-Identifier: Apache-2.0
// Rules of copies: each one broken, and its legal neighbour.
// Layer: tests. A test is called rule_ and the rule's name.
#include "tests/cpp/twin/kernel_fixture.h"

namespace ascend_deepep::twin_test {

using AscendC::DataCopy;
using AscendC::DataCopyExtParams;
using AscendC::DataCopyPad;
using AscendC::DataCopyPadExtParams;
using AscendC::DataCopyParams;

static GmArray<uint8_t, 4096 * 32> bytes_of_gm;

static void load(uint32_t count, uint32_t at = 0) {
    GmArray<uint32_t, 64> gm;
    Scratch<uint32_t> scratch(64);
    DataCopy(scratch.tensor[at], gm.tensor(), count);
}

static void load_padded(DataCopyExtParams shape, DataCopyPadExtParams<uint8_t> pad = {false, 0, 0, 0}) {
    Scratch<uint8_t> scratch(4095 * 32);
    DataCopyPad(scratch.tensor, bytes_of_gm.tensor(), shape, pad);
}

static void store_padded(DataCopyExtParams shape) {
    Scratch<uint8_t> scratch(4095 * 32);
    DataCopyPad(bytes_of_gm.tensor(), scratch.tensor, shape);
}

TEST(rule_copy_whole_units) {
    CHECK_FAULT(rules::kCopyWholeUnits, load(9));
    CHECK_FAULT(rules::kCopyWholeUnits, load(0));
    CHECK_FAULT(rules::kCopyWholeUnits, Scratch<uint32_t> s(64); DataCopy(s.tensor[32], s.tensor, 7));
    run_kernel([] { load(8); });
}

TEST(rule_copy_max_units) {
    static GmArray<uint64_t, 65536 * 4> large;
    const auto load_units = [](uint32_t units) {
        Scratch<uint64_t> scratch(4);
        DataCopy(scratch.tensor, large.tensor(), units * 4);
    };
    CHECK_FAULT(rules::kCopyMaxUnits, load_units(65536));
    CHECK_FAULT(rules::kUbRange, load_units(65535));  // as far as copies go: UB is what is too small
}

TEST(rule_copy_block_count) {
    CHECK_FAULT(rules::kCopyBlockCount, load_padded({0, 32, 0, 0, 0}));
    CHECK_FAULT(rules::kCopyBlockCount, load_padded({4096, 32, 0, 0, 0}));
    CHECK_FAULT(rules::kCopyBlockCount, store_padded({4096, 32, 0, 0, 0}));
    CHECK_FAULT(rules::kCopyBlockCount, Scratch<uint8_t> s(64);
                DataCopy(s.tensor, bytes_of_gm.tensor(), DataCopyParams(0, 1, 0, 0)));
    run_kernel([] { load_padded({4095, 32, 0, 0, 0}); });
}

TEST(rule_copy_block_length) {
    CHECK_FAULT(rules::kCopyBlockLength, load_padded({1, 0, 0, 0, 0}));
    CHECK_FAULT(rules::kCopyBlockLength, load_padded({1, 2097152, 0, 0, 0}));
    CHECK_FAULT(rules::kCopyBlockLength, Scratch<uint8_t> s(64);
                DataCopy(s.tensor, bytes_of_gm.tensor(), DataCopyParams(1, 0, 0, 0)));
    run_kernel([] { load_padded({1, 1, 0, 0, 0}); });
}

TEST(rule_copy_whole_elements) {
    const auto store = [](uint32_t bytes) {
        GmArray<uint32_t, 64> gm;
        Scratch<uint32_t> scratch(64);
        DataCopyPad(gm.tensor(), scratch.tensor, DataCopyExtParams{1, bytes, 0, 0, 0});
    };
    CHECK_FAULT(rules::kCopyWholeElements, store(6));
    run_kernel([&] { store(12); });
}

TEST(rule_copy_ub_stride) {
    CHECK_FAULT(rules::kCopyUbStride, load_padded({2, 32, 0, -1, 0}));
    CHECK_FAULT(rules::kCopyUbStride, load_padded({2, 32, 0, 65536, 0}));
    CHECK_FAULT(rules::kCopyUbStride, store_padded({2, 32, -1, 0, 0}));
    run_kernel([] { load_padded({2, 32, 0, 1, 0}); });
}

TEST(rule_copy_gm_stride) {
    CHECK_FAULT(rules::kCopyGmStride, load_padded({2, 32, -33, 0, 0}));
    CHECK_FAULT(rules::kCopyGmStride, load_padded({2, 32, int64_t{1} << 40, 0, 0}));
    CHECK_FAULT(rules::kCopyGmStride, store_padded({2, 32, 0, -32, 0}));
    run_kernel([] {
        load_padded({2, 32, -32, 0, 0});
        store_padded({2, 32, 0, 32, 0});
    });
}

TEST(rule_pad_size) {
    CHECK_FAULT(rules::kPadSize, load_padded({1, 8, 0, 0, 0}, {true, 33, 0, 0}));
    CHECK_FAULT(rules::kPadSize, load_padded({1, 8, 0, 0, 0}, {true, 0, 33, 0}));
    run_kernel([] { load_padded({1, 8, 0, 0, 0}, {true, 32, 32, 0}); });
}

TEST(rule_pad_value) {
    const auto load_words = [](uint64_t value) {
        GmArray<uint64_t, 8> words;
        Scratch<uint64_t> scratch(8);
        DataCopyPad(scratch.tensor, words.tensor(), DataCopyExtParams{1, 8, 0, 0, 0},
                    DataCopyPadExtParams<uint64_t>{true, 1, 0, value});
    };
    CHECK_FAULT(rules::kPadValue, load_words(3));
    run_kernel([&] { load_words(0); });
}

TEST(rule_ub_alignment) {
    CHECK_FAULT(rules::kUbAlignment, load(8, 1));
    CHECK_FAULT(rules::kUbAlignment, GmArray<uint32_t, 64> gm; Scratch<uint32_t> s(64);
                DataCopyPad(gm.tensor(), s.tensor[4], DataCopyExtParams{1, 8, 0, 0, 0}));
    CHECK_FAULT(rules::kUbAlignment, Scratch<float> s(64); AscendC::Duplicate(s.tensor[1], 0.0f, 8));
    run_kernel([] {
        load(8, 8);
        Scratch<float> scratch(64);
        AscendC::Duplicate(scratch.tensor[8], 0.0f, 8);
    });
}

TEST(rule_gm_alignment) {
    GmArray<uint32_t, 64> gm;
    const auto load_at = [&](uint32_t byte) {
        Scratch<uint32_t> scratch(64);
        AscendC::GlobalTensor<uint32_t> tensor;
        tensor.SetGlobalBuffer(reinterpret_cast<uint32_t*>(reinterpret_cast<uint8_t*>(gm.values) + byte));
        DataCopy(scratch.tensor, tensor, 8);
    };
    CHECK_FAULT(rules::kGmAlignment, load_at(2));
    run_kernel([&] { load_at(4); });
}

TEST(rule_ub_range) {
    GmArray<uint32_t, 64> gm;
    const auto load_into_first = [&](uint32_t at, uint32_t count) {
        AscendC::TPipe pipe;
        AscendC::TBuf<> first;
        AscendC::TBuf<> second;
        pipe.InitBuffer(first, 128);
        pipe.InitBuffer(second, 128);
        DataCopy(first.Get<uint32_t>()[at], gm.tensor(), count);
    };
    CHECK_FAULT(rules::kUbRange, load_into_first(16, 24));
    CHECK_FAULT(rules::kUbRange, Scratch<uint32_t> s(8); s.tensor.SetValue(8, 1));
    CHECK_FAULT(rules::kUbRange, Scratch<float> s(64); AscendC::Duplicate(s.tensor[8], 0.0f, 57));
    CHECK_FAULT(rules::kUbRange, Scratch<float> s(64); s.buffer.GetWithOffset<float>(8, 240));
    run_kernel([&] {
        load_into_first(16, 16);
        Scratch<uint32_t> scratch(8);
        scratch.tensor.SetValue(7, 1);
        CHECK_EQ(scratch.tensor.GetValue(7), 1u);
    });
}

TEST(rule_gm_tensor_range) {
    GmArray<uint32_t, 64> gm;
    const auto load_all = [&](uint32_t count) {
        Scratch<uint32_t> scratch(128);
        DataCopy(scratch.tensor, gm.tensor(), count);
    };
    CHECK_FAULT(rules::kGmTensorRange, load_all(72));
    CHECK_FAULT(rules::kGmTensorRange, gm.tensor().GetValue(64));
    run_kernel([&] { load_all(64); });
}

TEST(rule_tensor_offset) {
    CHECK_FAULT(rules::kTensorOffset, Scratch<uint32_t> s(8); s.tensor[9]);
    run_kernel([] {
        Scratch<uint32_t> scratch(8);
        CHECK_EQ(scratch.tensor[8].GetSize(), 0u);
    });
}

// Two blocks of 512 B, `gap` bytes apart; the first half of memory is the window.
TEST(rule_window_or_not) {
    GmArray<uint8_t, 4096> gm;
    TestHooks hooks;
    hooks.windows = {gm.values, 2048, gm.values, 2048};
    const auto copy = [&](bool is_load, int64_t gap) {
        run_kernel(
            [&] {
                Scratch<uint8_t> scratch(1024);
                if (is_load) {
                    DataCopyPad(scratch.tensor, gm.tensor(), DataCopyExtParams{2, 512, gap, 0, 0},
                                DataCopyPadExtParams<uint8_t>{false, 0, 0, 0});
                } else {
                    DataCopyPad(gm.tensor(), scratch.tensor, DataCopyExtParams{2, 512, 0, gap, 0});
                }
            },
            1, &hooks);
    };
    CHECK_REFUSED(rules::kWindowOrNot, copy(true, 2048));
    CHECK_REFUSED(rules::kWindowOrNot, copy(false, 2048));
    copy(true, 512);
    copy(false, 512);
}

}  // namespace ascend_deepep::twin_test
