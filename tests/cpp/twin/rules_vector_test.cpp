// SPDX-License-Identifier: Apache-2.0
// Rules of vector instructions: each one broken, and its legal neighbour.
// Layer: tests. A test is called rule_ and the rule's name.
#include "tests/cpp/twin/kernel_fixture.h"

namespace ascend_deepep::twin_test {

using AscendC::Cast;
using AscendC::LocalTensor;
using AscendC::RoundMode;

TEST(rule_vector_count) {
    CHECK_FAULT(rules::kVectorCount, Scratch<float> s(64); AscendC::Duplicate(s.tensor, 0.0f, -1));
    CHECK_FAULT(rules::kVectorCount, Scratch<float> s(64); AscendC::Muls(s.tensor, s.tensor, 2.0f, -8));
    run_kernel([] {
        Scratch<float> scratch(64);
        AscendC::Duplicate(scratch.tensor, 0.0f, 0);
    });
}

TEST(rule_operand_overlap) {
    CHECK_FAULT(rules::kOperandOverlap, Scratch<float> s(64); AscendC::Adds(s.tensor[8], s.tensor, 1.0f, 16));
    CHECK_FAULT(rules::kOperandOverlap, Scratch<float> s(64); AscendC::Add(s.tensor, s.tensor[32], s.tensor[8], 16));
    CHECK_FAULT(rules::kOperandOverlap, Scratch<uint8_t> s(128); AscendC::DataCopy(s.tensor[32], s.tensor, 64));
    const auto cast_in_place = [](auto to, auto from, RoundMode mode) {
        Scratch<uint8_t> scratch(256);
        Cast(scratch.tensor.ReinterpretCast<decltype(to)>(), scratch.tensor.ReinterpretCast<decltype(from)>(), mode,
             32);
    };
    CHECK_FAULT(rules::kOperandOverlap, cast_in_place(float{}, bfloat16_t{}, RoundMode::CAST_NONE));
    run_kernel([&] { cast_in_place(bfloat16_t{}, float{}, RoundMode::CAST_RINT); });
    run_kernel([] {
        Scratch<float> scratch(64);
        AscendC::Adds(scratch.tensor, scratch.tensor, 1.0f, 64);
        AscendC::Adds(scratch.tensor[16], scratch.tensor, 1.0f, 16);
        AscendC::Add(scratch.tensor, scratch.tensor[16], scratch.tensor[24], 16);
    });
}

template <typename D, typename S>
static void cast_one(RoundMode mode) {
    AscendC::TPipe pipe;
    AscendC::TBuf<> dst;
    AscendC::TBuf<> src;
    pipe.InitBuffer(dst, 64);
    pipe.InitBuffer(src, 64);
    AscendC::Duplicate(src.Get<S>(), S{}, 1);
    Cast(dst.Get<D>(), src.Get<S>(), mode, 1);
}

TEST(rule_cast_triple) {
    CHECK_FAULT(rules::kCastTriple, (cast_one<float, half>(RoundMode::CAST_RINT)));
    CHECK_FAULT(rules::kCastTriple, (cast_one<bfloat16_t, float>(RoundMode::CAST_NONE)));
    CHECK_FAULT(rules::kCastTriple, (cast_one<bfloat16_t, float>(RoundMode::CAST_ODD)));
    CHECK_FAULT(rules::kCastTriple, (cast_one<uint32_t, float>(RoundMode::CAST_RINT)));
    CHECK_FAULT(rules::kCastTriple, (cast_one<int8_t, float>(RoundMode::CAST_RINT)));
    CHECK_FAULT(rules::kCastTriple, (cast_one<int32_t, float>(RoundMode::CAST_NONE)));
    run_kernel([] {
        cast_one<float, half>(RoundMode::CAST_NONE);
        cast_one<bfloat16_t, float>(RoundMode::CAST_RINT);
    });
}

}  // namespace ascend_deepep::twin_test
