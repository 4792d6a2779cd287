// SPDX-License-Identifier: Apache-2.0
// Rows that quantisation may meet, as codes of 16 bits. Layer: tests.
#pragma once

#include <random>

#include "tests/cpp/quant/model.h"

namespace ascend_deepep::quant_test {

using namespace quant_model;

// What a row holds.
enum class Content {
    kOrdinary,
    kSpread,     // very different magnitudes, many groups of zeros
    kZeros,      // of both signs
    kSubnormal,  // too small for a factor, or for a scale
    kLast,       // the last element is the largest: it counts, whichever thread has it
    kHuge,       // near the largest number
    kNoise,      // any finite bits
    kNan,        // noise with NaNs and infinities: in some groups one of them, in some none
};
constexpr Content kContents[] = {Content::kOrdinary, Content::kSpread, Content::kZeros, Content::kSubnormal,
                                 Content::kLast,     Content::kHuge,   Content::kNoise, Content::kNan};

inline std::vector<uint16_t> make_row(Content content, uint32_t hidden, const Format& format, uint32_t seed) {
    std::mt19937 random(seed * 7919 + hidden);
    std::normal_distribution<double> normal;
    const uint32_t largest = format.infinity() - 1;
    std::vector<uint16_t> row;
    for (uint32_t i = 0; i < hidden; ++i) {
        double value = normal(random);
        uint32_t code = 0;
        if (content == Content::kSpread)
            value = random() % 5 == 0 ? 0.0 : std::ldexp(value, static_cast<int>(random() % 34) - 20);
        if (content == Content::kSpread && i / 32 % 3 == 1) value = 0;
        if (content == Content::kLast && i + 1 == hidden) value = -100;
        if (content == Content::kHuge) value = std::clamp(value, -1.0, 1.0) * format.largest();
        code = format.code(value, true);
        if (content == Content::kZeros) code = random() % 2 == 0 ? 0 : 0x8000;
        if (content == Content::kSubnormal) code = (random() & 0x8000) | (random() % 3 == 0 ? 0 : random() % 200);
        if (content == Content::kNoise || content == Content::kNan) {
            code = (random() & 0x8000) | random() % (largest + 1);
        }
        if (content == Content::kNan && i / 128 % 3 != 0 && random() % 64 == 0) {
            const uint32_t sign = random() & 0x8000;
            code = sign | (random() % 2 == 0 ? format.infinity() : format.infinity() + 1 + random() % 100);
        }
        row.push_back(static_cast<uint16_t>(code));
    }
    return row;
}

inline std::vector<float> make_factors(uint32_t count, uint32_t seed) {
    std::mt19937 random(seed * 31 + count);
    std::vector<float> factors;
    for (uint32_t i = 0; i < count; ++i)
        factors.push_back((static_cast<float>(random() % 2000) - 200.0F) / 997.0F);
    return factors;
}

}  // namespace ascend_deepep::quant_test
