// SPDX-License-Identifier: Apache-2.0
// What quantisation is to come to, written from docs/compatibility.md and the formulas: exact values as double, one
// rounding where the formula rounds, codes found among all numbers of a format. Shares nothing with op_kernel/quant.
// Layer: tests.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

namespace ascend_deepep::quant_model {

// A binary format of at most 16 bits: its non-negative finite numbers, in ascending order, which is that of its codes.
class Format {
  public:
    Format(int exponent_bits, int fraction_bits, uint32_t largest_code, bool has_infinity)
        : sign_(1U << (exponent_bits + fraction_bits)), has_infinity_(has_infinity) {
        const int bias = (1 << (exponent_bits - 1)) - 1;
        for (uint32_t code = 0; code <= largest_code; ++code) {
            const int exponent = static_cast<int>(code >> fraction_bits);
            const double fraction = code & ((1U << fraction_bits) - 1);
            const double whole = exponent == 0 ? 0 : 1 << fraction_bits;
            values_.push_back(std::ldexp(whole + fraction, std::max(exponent, 1) - bias - fraction_bits));
        }
    }

    double largest() const { return values_.back(); }
    uint32_t nan() const { return has_infinity_ ? (infinity() | (infinity() >> 1)) & (sign_ - 1) : sign_ - 1; }
    uint32_t infinity() const { return static_cast<uint32_t>(values_.size()); }

    // Nearest, ties to the even code; saturating, or to infinity from half a step above the largest number on.
    uint32_t code(double value, bool is_saturating) const {
        if (std::isnan(value)) return nan();
        const double magnitude = std::fabs(value);
        const uint32_t sign = std::signbit(value) ? sign_ : 0;
        const double step = values_.back() - values_[values_.size() - 2];
        if (magnitude > largest()) {
            return sign | (!is_saturating && magnitude >= largest() + step / 2 ? infinity() : infinity() - 1);
        }
        const auto above =
            static_cast<uint32_t>(std::lower_bound(values_.begin(), values_.end(), magnitude) - values_.begin());
        if (values_[above] == magnitude) return sign | above;
        const double up = values_[above] - magnitude;
        const double down = magnitude - values_[above - 1];
        const uint32_t nearest = up < down || (up == down && above % 2 == 0) ? above : above - 1;
        return sign | nearest;
    }

    double value(uint32_t code) const {
        const uint32_t magnitude = code & (sign_ - 1);
        double result = std::numeric_limits<double>::quiet_NaN();
        if (magnitude < values_.size())
            result = values_[magnitude];
        else if (has_infinity_ && magnitude == infinity())
            result = std::numeric_limits<double>::infinity();
        return (code & sign_) != 0 ? -result : result;
    }

  private:
    std::vector<double> values_;
    uint32_t sign_;
    bool has_infinity_;
};

inline const Format& bf16() {
    static const Format format(8, 7, 0x7F7F, true);
    return format;
}
inline const Format& fp16() {
    static const Format format(5, 10, 0x7BFF, true);
    return format;
}
inline const Format& e4m3() {
    static const Format format(4, 3, 0x7E, false);
    return format;
}
inline const Format& e5m2() {
    static const Format format(5, 2, 0x7B, true);
    return format;
}

enum class Element { kInt8, kE4m3, kE5m2 };

inline double largest_of(Element element) {
    return element == Element::kInt8 ? 127 : element == Element::kE4m3 ? e4m3().largest() : e5m2().largest();
}

// NaN is 0 as int8, and 0x7F in both 8-bit floats.
inline uint8_t element_code(double value, Element element) {
    if (element == Element::kInt8) {
        if (std::isnan(value)) return 0;
        const double whole = std::nearbyint(std::clamp(value, -128.0, 127.0));
        return static_cast<uint8_t>(static_cast<int>(whole));
    }
    if (std::isnan(value)) return 0x7F;
    return static_cast<uint8_t>((element == Element::kE4m3 ? e4m3() : e5m2()).code(value, true));
}

// Bytes of a row on the wire: values, and scales as they lie in memory.
struct Wire {
    std::vector<uint8_t> values;
    std::vector<uint8_t> scales;
};

template <typename T>
void append(std::vector<uint8_t>& bytes, T value) {
    const size_t at = bytes.size();
    bytes.resize(at + sizeof(T));
    std::memcpy(bytes.data() + at, &value, sizeof(T));
}

// A quotient or product of float32 numbers, once rounded. 53 bits are more than twice 24 and 2: exact enough.
inline float rounded(double value) {
    return static_cast<float>(value);
}

inline std::vector<double> decoded(const std::vector<uint16_t>& row, const Format& format) {
    std::vector<double> values;
    for (uint16_t code : row)
        values.push_back(format.value(code));
    return values;
}

// Row times smoothing factors, if there are any.
inline std::vector<double> smoothed(const std::vector<uint16_t>& row, const Format& format,
                                    const std::vector<float>& factors) {
    std::vector<double> values = decoded(row, format);
    for (size_t i = 0; i < values.size() && !factors.empty(); ++i)
        values[i] = rounded(values[i] * double(factors[i]));
    return values;
}

// Largest magnitude of [begin, end); NaN where there is a NaN.
inline double largest_magnitude(const std::vector<double>& values, size_t begin, size_t end) {
    double largest = 0;
    for (size_t i = begin; i < end; ++i) {
        if (std::isnan(values[i])) return values[i];
        largest = std::max(largest, std::fabs(values[i]));
    }
    return largest;
}

inline Wire static_int8(const std::vector<uint16_t>& row, const Format& format, const std::vector<float>& factors) {
    Wire wire;
    const std::vector<double> values = decoded(row, format);
    for (size_t i = 0; i < values.size(); ++i) {
        const float factor = factors.size() == 1 ? factors[0] : factors[i];
        wire.values.push_back(element_code(rounded(values[i] * double(factor)), Element::kInt8));
    }
    return wire;
}

// One float32 scale per `group` elements; a group of the row's length is quantisation by token.
inline Wire scaled(const std::vector<uint16_t>& row, const Format& format, Element element, size_t group,
                   const std::vector<float>& factors) {
    Wire wire;
    const std::vector<double> values = smoothed(row, format, factors);
    for (size_t begin = 0; begin < values.size(); begin += group) {
        const size_t end = std::min(begin + group, values.size());
        const float factor = rounded(largest_of(element) / largest_magnitude(values, begin, end));
        const bool is_nothing = std::isinf(factor);
        for (size_t i = begin; i < end; ++i)
            wire.values.push_back(is_nothing ? 0 : element_code(rounded(values[i] * double(factor)), element));
        const float scale = rounded(1.0 / double(factor));
        append(wire.scales, is_nothing ? 0.0F : std::isnan(scale) ? std::numeric_limits<float>::quiet_NaN() : scale);
    }
    return wire;
}

// One power of two per 32 elements; an even number of scale bytes.
inline Wire mx(const std::vector<uint16_t>& row, const Format& format, Element element) {
    const int emax = static_cast<int>(std::floor(std::log2(largest_of(element))));
    Wire wire;
    const std::vector<double> values = decoded(row, format);
    for (size_t begin = 0; begin < values.size(); begin += 32) {
        const size_t end = std::min(begin + 32, values.size());
        const double largest = largest_magnitude(values, begin, end);
        int biased = 255;
        // 2^-126 is the smallest normal number: below it the exponent field is 0.
        if (std::isfinite(largest)) biased = largest < 0x1p-126 ? 0 : std::ilogb(largest) + 127;
        const int scale = biased == 255 ? 255 : std::max(biased, emax) - emax;
        for (size_t i = begin; i < end; ++i) {
            const double value = biased == 255 ? std::nan("") : biased == 0 ? 0.0 : std::ldexp(values[i], 127 - scale);
            wire.values.push_back(element_code(value, element));
        }
        wire.scales.push_back(static_cast<uint8_t>(scale));
    }
    if (wire.scales.size() % 2 != 0) wire.scales.push_back(0);
    return wire;
}

inline Wire combine_int8(const std::vector<uint16_t>& row, const Format& format) {
    Wire wire;
    const std::vector<double> values = decoded(row, format);
    for (size_t begin = 0; begin < values.size(); begin += 8) {
        const float scale = rounded(largest_magnitude(values, begin, begin + 8) * double(rounded(1.0 / 127)));
        for (size_t i = begin; i < begin + 8; ++i) {
            const float quotient = rounded(values[i] / double(scale));
            const double detour = fp16().value(fp16().code(double(quotient), false));
            wire.values.push_back(element_code(detour, Element::kInt8));
        }
        append(wire.scales, static_cast<uint16_t>(format.code(double(scale), false)));
    }
    return wire;
}

// What the receiver takes the row for.
inline std::vector<uint16_t> combine_int8_decoded(const Wire& wire, const Format& format) {
    std::vector<uint16_t> row;
    for (size_t i = 0; i < wire.values.size(); ++i) {
        uint16_t scale;
        std::memcpy(&scale, wire.scales.data() + i / 8 * 2, sizeof(scale));
        const double value = static_cast<int8_t>(wire.values[i]) * format.value(scale);
        row.push_back(static_cast<uint16_t>(format.code(value, false)));
    }
    return row;
}

}  // namespace ascend_deepep::quant_model
