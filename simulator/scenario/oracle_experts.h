// SPDX-License-Identifier: Apache-2.0
// What the experts of these worlds do. Layer: simulator.
#pragma once

#include <cmath>

#include "simulator/scenario/oracle_floats.h"

namespace ascend_deepep::simulator {

// Of a row of two-byte elements: doubled when the expert's number is odd.
inline uint16_t expert_step(Dtype dtype, uint16_t bits, int expert) {
    return expert % 2 == 0 ? bits : half_bits(dtype, half_value(dtype, bits) * 2);
}
inline uint16_t expert_step(uint16_t bits, int expert) {
    return expert_step(Dtype::kBf16, bits, expert);
}

// Of any other row: made up from where it came from, so that a stray one shows. Groups of eight differ in size by
// powers of two, and some are zeros.
inline uint16_t made_output(Dtype dtype, uint32_t source, uint32_t token, uint32_t column, uint32_t h) {
    const auto mix = [](uint64_t value) {
        value = (value ^ (value >> 31)) * 0x9E3779B97F4A7C15ULL;
        return value ^ (value >> 29);
    };
    const uint64_t row = mix((uint64_t{source} << 48) + (uint64_t{token} << 16) + column + 1);
    const uint64_t group = mix(row + h / 8);
    if (group % 16 == 0) return 0;
    const auto whole = static_cast<double>(mix(group + h) % 4097) - 2048.0;
    return half_bits(dtype, static_cast<float>(std::ldexp(whole, static_cast<int>(group / 16 % 16) - 15)));
}

}  // namespace ascend_deepep::simulator
