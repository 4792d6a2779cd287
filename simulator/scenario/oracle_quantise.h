// SPDX-License-Identifier: Apache-2.0
// What dispatch makes of a row, and combine of one that travels as int8, from the formulas of the operators' contract;
// shares no code with the product. Layer: simulator.
// A group of zeros, or one so small that MAX / max|u| is no float32, gives zeros and scale 0. A NaN or an infinity
// gives a scale that is NaN or infinite. NaN codes have no defined sign here: see canonical().
#pragma once

#include <cmath>
#include <cstring>
#include <vector>

#include "simulator/scenario/features.h"
#include "simulator/scenario/oracle_floats.h"

namespace ascend_deepep::simulator {

struct QuantisedRow {
    std::vector<uint8_t> values;
    std::vector<uint8_t> scales;  // as they lie in memory
};

inline uint32_t elements_of_a_scale(Quant quant, uint32_t hidden) {
    switch (quant) {
        case Quant::kGroupE4m3:
        case Quant::kGroupE5m2:
            return 128;
        case Quant::kMxE4m3:
        case Quant::kMxE5m2:
            return 32;
        default:
            return hidden;
    }
}

inline bool is_mx(Quant quant) {
    return quant == Quant::kMxE4m3 || quant == Quant::kMxE5m2;
}
inline bool is_int8(Quant quant) {
    return quant == Quant::kStaticInt8 || quant == Quant::kTokenInt8;
}
inline Dtype element_of(Quant quant) {
    if (is_int8(quant)) return Dtype::kInt8;
    const bool is_e5m2 = quant == Quant::kTokenE5m2 || quant == Quant::kGroupE5m2 || quant == Quant::kMxE5m2;
    return is_e5m2 ? Dtype::kE5m2 : Dtype::kE4m3;
}

inline uint8_t int8_code(double value) {
    if (std::isnan(value)) return 0;
    return static_cast<uint8_t>(static_cast<int8_t>(std::min(std::max(std::nearbyint(value), -128.0), 127.0)));
}

inline uint8_t element_code(Dtype element, double value) {
    if (element == Dtype::kInt8) return int8_code(value);
    return static_cast<uint8_t>(code_of(format_of(element), value, true));
}

// max|u|; NaN where one is.
inline float largest_of(const std::vector<float>& u, size_t first, size_t end) {
    float largest = 0.0F;
    for (size_t i = first; i < end; ++i) {
        if (std::isnan(u[i])) return u[i];
        largest = std::max(largest, std::fabs(u[i]));
    }
    return largest;
}

template <typename T>
void append_bytes(const T& value, std::vector<uint8_t>* bytes) {
    const auto* const begin = reinterpret_cast<const uint8_t*>(&value);
    bytes->insert(bytes->end(), begin, begin + sizeof(T));
}

// f = MAX / max|u|; u * f, and the scale 1 / f.
inline void scale_group(Dtype element, const std::vector<float>& u, size_t first, size_t end, QuantisedRow* row) {
    const float most = element == Dtype::kInt8 ? 127.0F : element == Dtype::kE4m3 ? 448.0F : 57344.0F;
    const float factor = most / largest_of(u, first, end);
    const bool is_nothing = std::isinf(factor);
    for (size_t i = first; i < end; ++i)
        row->values.push_back(is_nothing ? 0 : element_code(element, u[i] * factor));
    append_bytes(is_nothing ? 0.0F : 1.0F / factor, &row->scales);
}

// Biased, of the float32: 0 for zeros and the smallest numbers, 255 for infinities and NaN.
inline int biased_exponent(float value) {
    if (!std::isfinite(value)) return 255;
    return std::fabs(value) < std::ldexp(1.0F, -126) ? 0 : std::ilogb(value) + 127;
}

inline void mx_group(Dtype element, const std::vector<float>& u, size_t first, size_t end, QuantisedRow* row) {
    const int most = element == Dtype::kE4m3 ? 8 : 15;  // exponent of the largest number
    int largest = 0;
    for (size_t i = first; i < end; ++i)
        largest = std::max(largest, biased_exponent(u[i]));
    const int scale = largest == 255 ? 255 : std::max(largest, most) - most;
    for (size_t i = first; i < end; ++i) {
        const double product = largest == 255 ? std::nan("") : std::ldexp(static_cast<double>(u[i]), 127 - scale);
        row->values.push_back(largest == 0 ? 0 : element_code(element, product));
    }
    row->scales.push_back(static_cast<uint8_t>(scale));
}

// `u`: float32 of x, times the factors of the row's expert where there are any.
inline QuantisedRow quantise(Quant quant, const std::vector<float>& u) {
    QuantisedRow row;
    const Dtype element = element_of(quant);
    if (quant == Quant::kStaticInt8) {
        for (float value : u)
            row.values.push_back(int8_code(value));
        return row;
    }
    const size_t size = elements_of_a_scale(quant, static_cast<uint32_t>(u.size()));
    for (size_t first = 0; first < u.size(); first += size) {
        const size_t end = std::min(first + size, u.size());
        if (is_mx(quant)) {
            mx_group(element, u, first, end, &row);
        } else {
            scale_group(element, u, first, end, &row);
        }
    }
    if (is_mx(quant) && row.scales.size() % 2 != 0) row.scales.push_back(0);
    return row;
}

// Combine's wire: groups of eight, s = max|v| / 127, int8 of float16 of v / s; s travels in the rows' type. What the
// source of the row sees.
inline void pass_as_int8(Dtype dtype, std::vector<float>* row) {
    constexpr size_t kGroup = 8;
    const auto part = static_cast<float>(1.0 / 127.0);
    for (size_t first = 0; first < row->size(); first += kGroup) {
        const size_t end = std::min(first + kGroup, row->size());
        const float scale = largest_of(*row, first, end) * part;
        const float kept = half_value(dtype, half_bits(dtype, scale));
        for (size_t i = first; i < end; ++i) {
            const float half = half_value(Dtype::kFp16, half_bits(Dtype::kFp16, (*row)[i] / scale));
            const auto code = static_cast<int8_t>(int8_code(half));
            (*row)[i] = half_value(dtype, half_bits(dtype, static_cast<float>(code) * kept));
        }
    }
}

// One code for all NaN of an element, and one pattern for those of float32 scales.
inline uint8_t canonical(Dtype element, uint8_t code) {
    if (element != Dtype::kE4m3 && element != Dtype::kE5m2) return code;
    return std::isnan(value_of(format_of(element), code)) ? 0x7F : code;
}

inline void make_canonical(Quant quant, std::vector<uint8_t>* values, std::vector<uint8_t>* scales) {
    for (uint8_t& code : *values)
        code = canonical(element_of(quant), code);
    if (is_mx(quant)) return;
    for (size_t at = 0; at + sizeof(float) <= scales->size(); at += sizeof(float)) {
        float scale;
        std::memcpy(&scale, scales->data() + at, sizeof(scale));
        if (std::isnan(scale)) std::memset(scales->data() + at, 0xFF, sizeof(scale));
    }
}

}  // namespace ascend_deepep::simulator
