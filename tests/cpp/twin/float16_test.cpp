// SPDX-License-Identifier: Apache-2.0
// half and bfloat16_t conversions against a reference that works on exact integers, bit by bit.
// Layer: tests.
#include <cmath>
#include <limits>

#include "tests/cpp/twin/kernel_fixture.h"

namespace ascend_deepep::twin_test {

// Encodes |value| = significand * 2^exponent, rounding to nearest even, in a format of `fraction` fraction bits and
// smallest normal exponent `least`. Integers only.
static uint32_t reference_encode(uint32_t float_word, int fraction, int least, uint32_t infinity) {
    const uint32_t sign = float_word >> 31;
    const int exponent_field = static_cast<int>(float_word >> 23 & 0xff);
    const uint64_t fraction_field = float_word & 0x7fffff;
    const uint32_t sign_bit = sign << 15;
    if (exponent_field == 255) {
        const uint32_t kept = static_cast<uint32_t>(fraction_field >> (23 - fraction));
        return sign_bit | infinity | (fraction_field == 0 ? 0 : kept | 1u << (fraction - 1));
    }
    const uint64_t significand = exponent_field == 0 ? fraction_field : fraction_field | 0x800000;
    const int exponent = (exponent_field == 0 ? 1 : exponent_field) - 127 - 23;  // of the significand's last bit
    if (significand == 0) {
        return sign_bit;
    }
    int top = 63 - __builtin_clzll(significand);
    const int unit = std::max(exponent + top - fraction, least - fraction);  // exponent of the result's last bit
    const int drop = unit - exponent;
    uint64_t kept = significand;
    if (drop > 0) {
        if (drop > 40) {
            return sign_bit;  // far below half of the smallest subnormal
        }
        kept = significand >> drop;
        const uint64_t rest = significand & ((uint64_t{1} << drop) - 1);
        const uint64_t middle = uint64_t{1} << (drop - 1);
        kept += rest > middle || (rest == middle && (kept & 1) != 0) ? 1 : 0;
    } else {
        kept = significand << -drop;
    }
    // kept counts units of 2^unit; normal numbers have bit `fraction` set.
    uint64_t word = kept + (static_cast<uint64_t>(unit - (least - fraction)) << fraction);
    if (kept == 0) {
        word = 0;
    }
    return sign_bit | static_cast<uint32_t>(word >= infinity ? infinity : word);
}

static double reference_decode(uint16_t word, int fraction, int least) {
    const int exponent = (word & 0x7fff) >> fraction;
    const int rest = word & ((1 << fraction) - 1);
    const double magnitude = exponent == 0 ? std::ldexp(rest, least - fraction)
                                           : std::ldexp(rest + (1 << fraction), exponent - 1 + least - fraction);
    return (word & 0x8000) != 0 ? -magnitude : magnitude;
}

TEST(half_to_float_all_words) {
    int wrong = 0;
    for (uint32_t word = 0; word < 0x10000; ++word) {
        const float got = __half2float(half::from_bits(static_cast<uint16_t>(word)));
        const uint32_t magnitude = word & 0x7fff;
        if (magnitude > 0x7c00) {
            const uint32_t want = (word & 0x8000) << 16 | 0x7fc00000u | (word & 0x1ff) << 13;
            wrong += twin::float_bits(got) != want;
        } else if (magnitude == 0x7c00) {
            wrong += !std::isinf(got) || std::signbit(got) != ((word & 0x8000) != 0);
        } else {
            wrong += static_cast<double>(got) != reference_decode(static_cast<uint16_t>(word), 10, -14) ||
                     std::signbit(got) != ((word & 0x8000) != 0);
        }
    }
    CHECK_EQ(wrong, 0);
}

TEST(bfloat16_to_float_all_words) {
    int wrong = 0;
    for (uint32_t word = 0; word < 0x10000; ++word) {
        const float got = __bfloat162float(bfloat16_t::from_bits(static_cast<uint16_t>(word)));
        const uint32_t magnitude = word & 0x7fff;
        const uint32_t want = magnitude > 0x7f80 ? (word << 16 | 0x400000) : word << 16;
        wrong += twin::float_bits(got) != want;
        if (magnitude < 0x7f80) {
            wrong += static_cast<double>(got) != reference_decode(static_cast<uint16_t>(word), 7, -126);
        }
    }
    CHECK_EQ(wrong, 0);
}

// All 2^32 floats in steps that meet every upper half with the lower bits that decide: ties, their neighbours, ends.
TEST(float_to_half_and_bfloat16) {
    const uint32_t lower[] = {0,      1,      0x0fff, 0x1000, 0x1001, 0x1fff, 0x2000, 0x2fff, 0x3000, 0x3001, 0x5000,
                              0x7000, 0x7fff, 0x8000, 0x8001, 0x9000, 0xb000, 0xcfff, 0xd001, 0xf000, 0xffff};
    uint64_t wrong_half = 0;
    uint64_t wrong_bfloat16 = 0;
    for (uint32_t upper = 0; upper < 0x10000; ++upper) {
        for (uint32_t low : lower) {
            const uint32_t word = upper << 16 | low;
            const float value = twin::bits_float(word);
            wrong_half += __float2half_rn(value).bits() != reference_encode(word, 10, -14, 0x7c00);
            wrong_bfloat16 += __float2bfloat16_rn(value).bits() != reference_encode(word, 7, -126, 0x7f80);
        }
    }
    CHECK_EQ(wrong_half, 0u);
    CHECK_EQ(wrong_bfloat16, 0u);
}

// Every float whose result is a subnormal half, at every lower bit pattern of one exponent in turn.
TEST(float_to_half_near_subnormals) {
    uint64_t wrong = 0;
    for (uint32_t word = 0x32fff000; word < 0x39000000; word += 13) {
        wrong += __float2half_rn(twin::bits_float(word)).bits() != reference_encode(word, 10, -14, 0x7c00);
    }
    CHECK_EQ(wrong, 0u);
}

TEST(round_trips_keep_every_finite_word) {
    int wrong = 0;
    for (uint32_t word = 0; word < 0x10000; ++word) {
        const auto bits = static_cast<uint16_t>(word);
        if ((word & 0x7fff) <= 0x7c00) {
            wrong += __float2half_rn(__half2float(half::from_bits(bits))).bits() != bits;
        }
        if ((word & 0x7fff) <= 0x7f80) {
            wrong += __float2bfloat16_rn(__bfloat162float(bfloat16_t::from_bits(bits))).bits() != bits;
        }
    }
    CHECK_EQ(wrong, 0);
}

TEST(known_float16_words) {
    CHECK_EQ(__float2half_rn(65519.99f).bits(), 0x7bff);
    CHECK_EQ(__float2half_rn(65520.0f).bits(), 0x7c00);
    CHECK_EQ(__float2half_rn(0x1p-25f).bits(), 0);
    CHECK_EQ(__float2half_rn(0x1.000002p-25f).bits(), 1);
    CHECK_EQ(__float2bfloat16_rn(1.00390625f).bits(), 0x3f80);  // a tie goes to even
    CHECK_EQ(__float2bfloat16_rn(-std::numeric_limits<float>::max()).bits(), 0xff80);
    CHECK_EQ(__float2bfloat16_rn(std::numeric_limits<float>::quiet_NaN()).bits(), 0x7fc0);
}

}  // namespace ascend_deepep::twin_test
