// SPDX-License-Identifier: Apache-2.0
// Cast(dst, src, mode, count): the (dst, src, mode) triples that dav-3510 carries out, and their arithmetic.
// Layer: twin/include. A device build skips an illegal triple silently; here it is a fault. Results in 16-bit floats
// saturate (NaN to 0) unless CTRL[60] and CTRL[48] are both set: after reset they saturate.
#pragma once

#include <cmath>
#include <limits>

#include "twin_detail/vector.h"

namespace ascend_deepep::twin {

template <typename Dst, typename Src, typename D, typename... S>
constexpr bool kCastFrom = std::is_same_v<Dst, D> && kIsOneOf<Src, S...>;

// Every rounding mode from RINT to TRUNC.
template <typename D, typename S>
constexpr bool kCastRounds =
    kCastFrom<D, S, half, float, int16_t, bfloat16_t, int32_t> || kCastFrom<D, S, float, int32_t, int64_t, float> ||
    kCastFrom<D, S, bfloat16_t, float, half> || kCastFrom<D, S, int64_t, float> ||
    kCastFrom<D, S, int32_t, float, half, bfloat16_t> || kCastFrom<D, S, int16_t, float, half> ||
    kCastFrom<D, S, int8_t, half> || kCastFrom<D, S, uint8_t, half>;

template <typename D, typename S>
constexpr bool kCastNone =
    kCastFrom<D, S, half, int32_t, uint8_t, int8_t, float, int16_t> ||
    kCastFrom<D, S, float, half, bfloat16_t, int16_t, int32_t> ||
    kCastFrom<D, S, uint16_t, uint8_t, uint32_t, int32_t> || kCastFrom<D, S, uint32_t, uint8_t, uint16_t, int16_t> ||
    kCastFrom<D, S, int16_t, int8_t, uint32_t, int32_t> || kCastFrom<D, S, int32_t, int8_t, int16_t, int64_t> ||
    kCastFrom<D, S, int64_t, int32_t> || kCastFrom<D, S, uint8_t, uint16_t, int16_t, uint32_t, int32_t, half> ||
    kCastFrom<D, S, int8_t, half>;

// Legal on hardware but not modelled here, so refused: CAST_ODD, CAST_HYBRID, and int64 to float but to nearest.
template <typename D, typename S>
constexpr bool is_legal_cast(AscendC::RoundMode mode) {
    using AscendC::RoundMode;
    if (std::is_same_v<D, float> && std::is_same_v<S, int64_t>) {
        return mode == RoundMode::CAST_RINT;
    }
    switch (mode) {
        case RoundMode::CAST_RINT:
        case RoundMode::CAST_FLOOR:
        case RoundMode::CAST_CEIL:
        case RoundMode::CAST_ROUND:
        case RoundMode::CAST_TRUNC:
            return kCastRounds<D, S>;
        case RoundMode::CAST_NONE:
            return kCastNone<D, S>;
        default:
            return false;
    }
}

// Rounds to an integer in the given mode; exact in double for every source type but int64.
inline double rounded(double value, AscendC::RoundMode mode) {
    using AscendC::RoundMode;
    switch (mode) {
        case RoundMode::CAST_FLOOR:
            return std::floor(value);
        case RoundMode::CAST_CEIL:
            return std::ceil(value);
        case RoundMode::CAST_ROUND:
            return std::round(value);
        case RoundMode::CAST_TRUNC:
            return std::trunc(value);
        default:
            return std::nearbyint(value);
    }
}

// Rounds to `digits` binary digits, not finer than 2^least; the caller encodes the exact result.
inline double rounded_float(double value, AscendC::RoundMode mode, int digits, int least) {
    if (value == 0 || !std::isfinite(value)) {
        return value;
    }
    const int exponent = std::ilogb(value) - (digits - 1);
    const int place = exponent > least ? exponent : least;
    return std::ldexp(rounded(std::ldexp(value, -place), mode), place);
}

template <typename Int>
inline Int saturated(double value) {
    if (std::isnan(value)) {
        return 0;
    }
    constexpr double kLow = static_cast<double>(std::numeric_limits<Int>::min());
    constexpr double kHigh = static_cast<double>(std::numeric_limits<Int>::max());
    if (value <= kLow) {
        return std::numeric_limits<Int>::min();
    }
    return value >= kHigh ? std::numeric_limits<Int>::max() : static_cast<Int>(value);
}

template <typename T>
inline T saturated_float16(T value, bool saturates) {
    constexpr uint32_t kInfinity = std::is_same_v<T, half> ? 0x7c00 : 0x7f80;
    const uint32_t bits = value.bits();
    const uint32_t magnitude = bits & 0x7fff;
    const uint32_t largest = (bits & 0x8000) | (kInfinity - 1);
    const uint32_t number = select(magnitude == kInfinity, largest, bits);
    const uint32_t limited = select(magnitude > kInfinity, 0, number);
    return T::from_bits(static_cast<uint16_t>(select(saturates, limited, bits)));
}

// The general case, one element; the common conversions below do not come here.
template <typename D, typename S>
inline D cast_element(S source, AscendC::RoundMode mode, bool saturates) {
    if constexpr (kIsFloat16<D>) {
        constexpr bool kHalf = std::is_same_v<D, half>;
        const double exact = static_cast<double>(widened(source));
        const double value = rounded_float(exact, mode, kHalf ? 11 : 8, kHalf ? -24 : -133);
        const double largest = kHalf ? 65504.0 : 0x1.fep127;
        const bool towards_zero = mode == AscendC::RoundMode::CAST_TRUNC ||
                                  (mode == AscendC::RoundMode::CAST_FLOOR && value > 0) ||
                                  (mode == AscendC::RoundMode::CAST_CEIL && value < 0);
        if (towards_zero && std::isfinite(value) && std::fabs(value) > largest) {
            return D(static_cast<float>(std::copysign(largest, value)));
        }
        return saturated_float16(D(static_cast<float>(value)), saturates);
    } else if constexpr (std::is_same_v<D, float>) {
        if constexpr (std::is_same_v<S, float>) {
            return static_cast<float>(rounded(source, mode));  // float to float rounds to whole numbers
        } else if constexpr (std::is_same_v<S, int64_t>) {
            return static_cast<float>(source);
        } else {
            return static_cast<float>(rounded_float(static_cast<double>(widened(source)), mode, 24, -149));
        }
    } else if constexpr (std::is_integral_v<S>) {
        if constexpr (sizeof(D) < sizeof(S)) {
            return saturated<D>(static_cast<double>(source));
        } else {
            return static_cast<D>(source);
        }
    } else {
        return saturated<D>(rounded(static_cast<double>(widened(source)), mode));
    }
}

template <typename D, typename S>
__attribute__((noinline)) void cast_loop(D* dst, const S* src, AscendC::RoundMode mode, uint32_t count,
                                         bool saturates) {
    const bool nearest = mode == AscendC::RoundMode::CAST_RINT || mode == AscendC::RoundMode::CAST_NONE;
    if constexpr (std::is_same_v<D, float> && kIsFloat16<S>) {
        ASCEND_DEEPEP_INDEPENDENT
        for (uint32_t i = 0; i < count; ++i) {
            dst[i] = static_cast<float>(src[i]);
        }
        return;
    }
    if constexpr (kIsFloat16<D> && std::is_same_v<S, float>) {
        if (nearest && saturates) {
            ASCEND_DEEPEP_INDEPENDENT
            for (uint32_t i = 0; i < count; ++i) {
                dst[i] = saturated_float16(D(src[i]), true);
            }
            return;
        }
        if (nearest) {
            ASCEND_DEEPEP_INDEPENDENT
            for (uint32_t i = 0; i < count; ++i) {
                dst[i] = D(src[i]);
            }
            return;
        }
    }
    for (uint32_t i = 0; i < count; ++i) {
        dst[i] = cast_element<D>(src[i], mode, saturates);
    }
}

}  // namespace ascend_deepep::twin

namespace AscendC {

template <typename T, typename U>
__aicore__ inline void Cast(const LocalTensor<T>& dst, const LocalTensor<U>& src, const RoundMode& roundMode,
                            const uint32_t count) {
    using namespace ascend_deepep::twin;
    require(is_legal_cast<T, U>(roundMode), rules::kCastTriple, "Cast", static_cast<uint64_t>(roundMode),
            sizeof(T) * 16 + sizeof(U), "use a legal mode, or cast by way of float");
    require_operand("Cast", dst, count);
    require_operand("Cast", src, count);
    require_apart("Cast", span_of(dst, count), span_of(src, count), sizeof(T) <= sizeof(U));
    T* out = reinterpret_cast<T*>(dst.twin_data());
    const U* in = reinterpret_cast<const U*>(src.twin_data());
    if constexpr (is_legal_cast<T, U>(RoundMode::CAST_RINT) || is_legal_cast<T, U>(RoundMode::CAST_NONE)) {
        issue(Pipe::kV, [out, in, mode = roundMode, count] {
            constexpr uint64_t kIeee = uint64_t{1} << 60 | uint64_t{1} << 48;
            cast_loop(out, in, mode, count, (current_core().ctrl & kIeee) != kIeee);
        });
    }
}

}  // namespace AscendC
