// SPDX-License-Identifier: Apache-2.0
// Floating point formats of fewer than 32 bits, from their definition: a number of mantissa bits, the exponent of the
// smallest normal number, the largest finite one. Rounding is arithmetic in double, not on bits. Layer: simulator.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "contract/control_message.h"

namespace ascend_deepep::simulator {

struct FloatFormat {
    int bits;          // of a code
    int mantissa;      // bits
    int least;         // exponent of the smallest normal number
    uint32_t largest;  // code of the largest finite number
    bool has_infinity;
};

constexpr FloatFormat kBf16Format{16, 7, -126, 0x7F7F, true};
constexpr FloatFormat kFp16Format{16, 10, -14, 0x7BFF, true};
constexpr FloatFormat kE4m3Format{8, 3, -6, 0x7E, false};
constexpr FloatFormat kE5m2Format{8, 2, -14, 0x7B, true};

inline const FloatFormat& format_of(Dtype dtype) {
    return dtype == Dtype::kFp16   ? kFp16Format
           : dtype == Dtype::kE4m3 ? kE4m3Format
           : dtype == Dtype::kE5m2 ? kE5m2Format
                                   : kBf16Format;
}

inline uint32_t sign_bit(const FloatFormat& format) {
    return 1U << (format.bits - 1);
}

inline double value_of(const FloatFormat& format, uint32_t code) {
    const uint32_t magnitude = code & (sign_bit(format) - 1);
    const double sign = (code & sign_bit(format)) != 0 ? -1.0 : 1.0;
    if (magnitude > format.largest) {
        const bool is_infinite = format.has_infinity && magnitude % (1U << format.mantissa) == 0;
        return is_infinite ? sign * std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
    }
    const int step = static_cast<int>(magnitude >> format.mantissa);  // 0: below the smallest normal number
    const uint32_t fraction = magnitude % (1U << format.mantissa) + (step == 0 ? 0U : 1U << format.mantissa);
    return sign * std::ldexp(fraction, format.least + std::max(step, 1) - 1 - format.mantissa);
}

// The nearest code, the even one of two. Beyond the largest number: that one if `is_saturating`, else infinity, which
// the format must have. Any NaN gives the positive one with all bits set.
inline uint32_t code_of(const FloatFormat& format, double value, bool is_saturating) {
    if (std::isnan(value)) return sign_bit(format) - 1;
    const uint32_t sign = std::signbit(value) ? sign_bit(format) : 0;
    const uint32_t beyond = is_saturating ? format.largest : format.largest + 1;
    if (std::isinf(value)) return sign + beyond;
    if (value == 0.0) return sign;
    const int exponent = std::max(std::ilogb(value), format.least);
    // Steps between neighbours of this size are 2 ** (exponent - mantissa), and codes count them.
    const auto steps = static_cast<uint64_t>(std::nearbyint(std::ldexp(std::fabs(value), format.mantissa - exponent)));
    const uint64_t code = (static_cast<uint64_t>(exponent - format.least) << format.mantissa) + steps;
    return sign + (code > format.largest ? beyond : static_cast<uint32_t>(code));
}

// Elements of two bytes.
inline float half_value(Dtype dtype, uint16_t bits) {
    return static_cast<float>(value_of(format_of(dtype), bits));
}
inline uint16_t half_bits(Dtype dtype, float value) {
    return static_cast<uint16_t>(code_of(format_of(dtype), value, false));
}
inline float bf16_value(uint16_t bits) {
    return half_value(Dtype::kBf16, bits);
}
inline uint16_t bf16_bits(float value) {
    return half_bits(Dtype::kBf16, value);
}

}  // namespace ascend_deepep::simulator
