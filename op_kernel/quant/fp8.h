// SPDX-License-Identifier: Apache-2.0
//
// float32 to the 8-bit floats: nearest even, subnormals kept, saturating to the largest finite number (infinities too),
// NaN to NaN. Layer: quant.
// Integer arithmetic, not __asc_cvt_float2_to_fp8x2 of simt_api/asc_fp8.h: when that saturates it turns NaN into +0, so
// a NaN of the model would arrive as a zero; it saturates only while CTRL[60] is 0; what becomes of subnormal results
// its manual does not say.
#ifndef ASCEND_DEEPEP_QUANT_FP8_H
#define ASCEND_DEEPEP_QUANT_FP8_H

#include "quant/element.h"

namespace ascend_deepep::kernel {

constexpr uint32_t kFp8Nan = 0x7FU;  // of both formats; the sign of a NaN is not kept

// A format of kFraction fraction bits and exponent bias kBias whose largest finite number is `kLargest`.
template <uint32_t kFraction, uint32_t kBias, uint32_t kLargest>
struct Fp8 {
    static __simt_callee__ inline uint32_t code(float value) {
        constexpr uint32_t kFloatFraction = 23, kFloatBias = 127;
        constexpr uint32_t kDropped = kFloatFraction - kFraction;
        constexpr uint32_t kRebias = (kFloatBias - kBias) << kFloatFraction;
        constexpr uint32_t kLeastNormal = kRebias + (1U << kFloatFraction);
        constexpr uint32_t kMost = kRebias + (kLargest << kDropped);  // the largest number as float32
        // A float32 whose last bit counts what the last bit of a subnormal counts: the sum with it rounds there.
        constexpr uint32_t kAligner = (kFloatBias + kFloatFraction + 1 - kBias - kFraction) << kFloatFraction;
        const uint32_t bits = __float_as_uint(value);
        const uint32_t sign = (bits >> 24) & 0x80U;
        const uint32_t magnitude = bits & kFloatMagnitude;
        const uint32_t kept = smaller(magnitude, kMost);
        // A carry out of the fraction moves into the exponent as it should.
        const uint32_t normal = (kept - kRebias + (1U << (kDropped - 1)) - 1U + ((kept >> kDropped) & 1U)) >> kDropped;
        const uint32_t subnormal = __float_as_uint(__uint_as_float(kept) + __uint_as_float(kAligner)) - kAligner;
        const uint32_t number = sign | choose(kept < kLeastNormal, subnormal, normal);
        return choose(magnitude > kFloatInfinity, kFp8Nan, number);
    }
};

struct E4m3 : Fp8<3, 7, 0x7EU> {
    static constexpr float kMax = 448.0F;
    static constexpr uint32_t kMaxExponent = 8;  // of the largest number
};
struct E5m2 : Fp8<2, 15, 0x7BU> {
    static constexpr float kMax = 57344.0F;
    static constexpr uint32_t kMaxExponent = 15;
};

}  // namespace ascend_deepep::kernel

#endif  // ASCEND_DEEPEP_QUANT_FP8_H
