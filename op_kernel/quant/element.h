// SPDX-License-Identifier: Apache-2.0
//
// Elements of a row in UB, bf16 or fp16, as the packs that a SIMT thread works on. Layer: quant.
// Bits rather than branches: a thread of the device diverges on a branch, and the twin's compiler makes vectors of
// what has none.
#ifndef ASCEND_DEEPEP_QUANT_ELEMENT_H
#define ASCEND_DEEPEP_QUANT_ELEMENT_H

#include "contract/token_layout.h"
#include "port/port.h"
#include "simt_api/asc_bf16.h"
#include "simt_api/asc_fp16.h"
#include "simt_api/asc_simt.h"

namespace ascend_deepep::kernel {

// 16 elements: 32 B of the row in two loads, half a unit of the image. A row and a block are whole packs of either.
constexpr uint32_t kPackElements = 16;
constexpr uint32_t kPackWords = kPackElements / 2;  // of two 16-bit elements
constexpr uint32_t kPackLoads = kPackWords / 4;
static_assert(kHiddenMultiple % kPackElements == 0 && kBlockDataBytes % (kPackElements * kElementBytes) == 0,
              "a row and a block are whole packs");

constexpr uint32_t kFloatInfinity = 0x7F800000U;
constexpr uint32_t kFloatNan = 0x7FC00000U;  // the one NaN that these kernels make
constexpr uint32_t kFloatMagnitude = 0x7FFFFFFFU;

// `yes` where the condition holds, else `no`.
__simt_callee__ inline uint32_t choose(bool condition, uint32_t yes, uint32_t no) {
    const uint32_t mask = 0U - static_cast<uint32_t>(condition);
    return (yes & mask) | (no & ~mask);
}
__simt_callee__ inline uint32_t larger(uint32_t a, uint32_t b) {
    return a > b ? a : b;
}
__simt_callee__ inline uint32_t smaller(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

// The two elements of a word, the lower address first. `T` only picks the overload.
__simt_callee__ inline float low_element(uint32_t word, bfloat16_t) {
    return __uint_as_float(word << 16);
}
__simt_callee__ inline float high_element(uint32_t word, bfloat16_t) {
    return __uint_as_float(word & 0xFFFF0000U);
}
__simt_callee__ inline float low_element(uint32_t word, half) {
    return __half2float(__ushort_as_half(static_cast<uint16_t>(word)));
}
__simt_callee__ inline float high_element(uint32_t word, half) {
    return __half2float(__ushort_as_half(static_cast<uint16_t>(word >> 16)));
}
__simt_callee__ inline void round_to(__ubuf__ bfloat16_t* to, float value) {
    *to = __float2bfloat16_rn(value);
}
__simt_callee__ inline void round_to(__ubuf__ half* to, float value) {
    *to = __float2half_rn(value);
}

// A pack as float32: `low` are the elements of even index, `high` those of odd index.
template <typename T>
__simt_callee__ inline void load_pack(float* low, float* high, __ubuf__ uint4* row, uint32_t pack) {
    const uint4 first = row[pack * kPackLoads];
    const uint4 second = row[pack * kPackLoads + 1];
    const uint32_t words[kPackWords] = {first.x, first.y, first.z, first.w, second.x, second.y, second.z, second.w};
    ASCEND_DEEPEP_KEEP_LOOP
    for (uint32_t i = 0; i < kPackWords; ++i) {
        low[i] = low_element(words[i], T());
        high[i] = high_element(words[i], T());
    }
}

// A pack times its smoothing factors: one rounding a product.
template <typename T, bool kIsSmoothed>
__simt_callee__ inline void load_smoothed(float* low, float* high, __ubuf__ uint4* row, __ubuf__ float2* smooth,
                                          uint32_t pack) {
    load_pack<T>(low, high, row, pack);
    if (!kIsSmoothed) return;
    ASCEND_DEEPEP_KEEP_LOOP
    for (uint32_t i = 0; i < kPackWords; ++i) {
        const float2 factor = smooth[pack * kPackWords + i];
        low[i] = low[i] * factor.x;
        high[i] = high[i] * factor.y;
    }
}

// The largest magnitude as bits. They order as the magnitudes do, any NaN above infinity, so a maximum of bits is that
// of the values in whatever order it is taken, and a NaN wins.
__simt_callee__ inline uint32_t largest_bits(const float* low, const float* high) {
    uint32_t largest = 0;
    ASCEND_DEEPEP_KEEP_LOOP
    for (uint32_t i = 0; i < kPackWords; ++i) {
        largest = larger(largest, __float_as_uint(low[i]) & kFloatMagnitude);
        largest = larger(largest, __float_as_uint(high[i]) & kFloatMagnitude);
    }
    return largest;
}

// Every NaN as the one NaN: results then do not depend on which of several NaNs an instruction keeps.
__simt_callee__ inline uint32_t one_nan(uint32_t bits) {
    return choose((bits & kFloatMagnitude) > kFloatInfinity, kFloatNan, bits);
}

}  // namespace ascend_deepep::kernel

#endif  // ASCEND_DEEPEP_QUANT_ELEMENT_H
