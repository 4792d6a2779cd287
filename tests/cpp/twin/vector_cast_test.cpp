// SPDX-License-Identifier: Apache-2.0
// Vector instructions and casts: results, legal triples, saturation by CTRL.
// Layer: tests.
#include <cmath>
#include <limits>

#include "tests/cpp/twin/kernel_fixture.h"

namespace ascend_deepep::twin_test {

using AscendC::Cast;
using AscendC::LocalTensor;
using AscendC::RoundMode;

// Two tensors of different element types in one buffer each.
template <typename D, typename S>
struct CastBuffers {
    AscendC::TPipe pipe;
    AscendC::TBuf<> dst_buffer;
    AscendC::TBuf<> src_buffer;
    LocalTensor<D> dst;
    LocalTensor<S> src;
    CastBuffers() {
        pipe.InitBuffer(dst_buffer, 64 * sizeof(D));
        pipe.InitBuffer(src_buffer, 64 * sizeof(S));
        dst = dst_buffer.Get<D>();
        src = src_buffer.Get<S>();
    }
};

template <typename D, typename S>
D cast_one(S value, RoundMode mode) {
    CastBuffers<D, S> buffers;
    buffers.src.SetValue(0, value);
    sync<AscendC::HardEvent::S_V>();
    Cast(buffers.dst, buffers.src, mode, 1);
    sync<AscendC::HardEvent::V_S>();
    return buffers.dst.GetValue(0);
}

TEST(legal_casts) {
    run_kernel([] {
        CHECK_EQ((cast_one<float>(half(1.5f), RoundMode::CAST_NONE)), 1.5f);
        CHECK_EQ((cast_one<float>(bfloat16_t(-3.0f), RoundMode::CAST_NONE)), -3.0f);
        CHECK_EQ((cast_one<bfloat16_t>(1.00390625f, RoundMode::CAST_RINT)).bits(), 0x3f80);
        CHECK_EQ((cast_one<bfloat16_t>(1.00390625f, RoundMode::CAST_CEIL)).bits(), 0x3f81);
        CHECK_EQ((cast_one<bfloat16_t>(1.00390625f, RoundMode::CAST_ROUND)).bits(), 0x3f81);
        CHECK_EQ((cast_one<bfloat16_t>(-1.001f, RoundMode::CAST_FLOOR)).bits(), 0xbf81);
        CHECK_EQ((cast_one<bfloat16_t>(-1.001f, RoundMode::CAST_TRUNC)).bits(), 0xbf80);
        CHECK_EQ((cast_one<half>(0x1.8p-24f, RoundMode::CAST_FLOOR)).bits(), 1);
        CHECK_EQ((cast_one<half>(0x1.8p-24f, RoundMode::CAST_CEIL)).bits(), 2);
        CHECK_EQ((cast_one<int32_t>(2.5f, RoundMode::CAST_RINT)), 2);
        CHECK_EQ((cast_one<int32_t>(2.5f, RoundMode::CAST_ROUND)), 3);
        CHECK_EQ((cast_one<int32_t>(-2.5f, RoundMode::CAST_FLOOR)), -3);
        CHECK_EQ((cast_one<int32_t>(1e20f, RoundMode::CAST_TRUNC)), std::numeric_limits<int32_t>::max());
        CHECK_EQ((cast_one<float>(int32_t{16777217}, RoundMode::CAST_RINT)), 16777216.0f);
        CHECK_EQ((cast_one<int64_t>(int32_t{-7}, RoundMode::CAST_NONE)), -7);
        CHECK_EQ((cast_one<uint8_t>(half(200.0f), RoundMode::CAST_RINT)), 200);
    });
}

TEST(ctrl_decides_saturation) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
    run_kernel([] {
        CHECK_EQ((cast_one<half>(1e6f, RoundMode::CAST_RINT)).bits(), 0x7bff);
        CHECK_EQ((cast_one<bfloat16_t>(-kInfinity, RoundMode::CAST_RINT)).bits(), 0xff7f);
        CHECK_EQ((cast_one<half>(kNan, RoundMode::CAST_RINT)).bits(), 0);
        AscendC::SetCtrlSpr<48, 48>(1);
        CHECK_EQ((AscendC::GetCtrlSpr<48, 48>()), 1);
        CHECK_EQ((cast_one<half>(1e6f, RoundMode::CAST_RINT)).bits(), 0x7c00);
        CHECK_EQ((cast_one<half>(1e6f, RoundMode::CAST_TRUNC)).bits(), 0x7bff);
        CHECK_EQ((cast_one<bfloat16_t>(-kInfinity, RoundMode::CAST_RINT)).bits(), 0xff80);
        CHECK_EQ((cast_one<half>(kNan, RoundMode::CAST_RINT)).bits(), 0x7e00);
        AscendC::ResetCtrlSpr<48, 48>();
        CHECK_EQ((AscendC::GetCtrlSpr<60, 60>()), 1);
        CHECK_EQ((cast_one<half>(1e6f, RoundMode::CAST_RINT)).bits(), 0x7bff);
    });
}

TEST(arithmetic) {
    run_kernel([] {
        AscendC::TPipe pipe;
        AscendC::TBuf<> buffers[3];
        LocalTensor<float> t[3];
        for (int i = 0; i < 3; ++i) {
            pipe.InitBuffer(buffers[i], 256);
            t[i] = buffers[i].Get<float>();
            AscendC::Duplicate(t[i], static_cast<float>(i + 1), 64);
        }
        AscendC::Muls(t[0], t[0], 3.0f, 64);  // 3
        AscendC::Adds(t[0], t[0], 0.5f, 63);  // 3.5, the last stays 3
        AscendC::Mul(t[1], t[0], t[2], 64);   // 10.5
        AscendC::Add(t[2], t[1], t[0], 64);   // 14
        AscendC::Sub(t[1], t[2], t[1], 64);   // 3.5
        AscendC::Max(t[1], t[1], t[2], 32);   // 14 in the first half
        AscendC::Min(t[1], t[1], t[0], 8);    // 3.5 in the first eight
        sync<AscendC::HardEvent::V_S>();
        CHECK_EQ(t[2].GetValue(0), 14.0f);
        CHECK_EQ(t[2].GetValue(63), 12.0f);
        CHECK_EQ(t[1].GetValue(0), 3.5f);
        CHECK_EQ(t[1].GetValue(8), 14.0f);
        CHECK_EQ(t[1].GetValue(40), 3.5f);
    });
    run_kernel([] {
        CastBuffers<bfloat16_t, bfloat16_t> b;
        AscendC::Duplicate(b.src, bfloat16_t(1.0f), 64);
        AscendC::Adds(b.dst, b.src, bfloat16_t(0.00390625f), 64);  // exact 1 + 2^-8 rounds back to 1
        sync<AscendC::HardEvent::V_S>();
        CHECK_EQ(b.dst.GetValue(5).bits(), 0x3f80);
    });
}

}  // namespace ascend_deepep::twin_test
