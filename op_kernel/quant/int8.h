// SPDX-License-Identifier: Apache-2.0
//
// float32 to int8: nearest even, saturating, NaN to 0. Layer: quant.
#ifndef ASCEND_DEEPEP_QUANT_INT8_H
#define ASCEND_DEEPEP_QUANT_INT8_H

#include "quant/element.h"

namespace ascend_deepep::kernel {

struct Int8 {
    static constexpr float kMax = 127.0F;

    static __simt_callee__ inline uint32_t code(float value) {
        constexpr uint32_t kMost = 0x42FE0000U, kLeast = 0x43000000U;  // 127, and 128 for what is negative
        constexpr float kAligner = 12582912.0F;                        // 1.5 * 2^23: the last bit of a sum with it is 1
        const uint32_t bits = __float_as_uint(value);
        const uint32_t sign = bits & ~kFloatMagnitude;
        const uint32_t magnitude = bits & kFloatMagnitude;
        // Limits that are whole numbers: to saturate first is to saturate last.
        const uint32_t kept =
            choose(magnitude > kFloatInfinity, 0, smaller(magnitude, choose(sign != 0, kLeast, kMost)));
        return __float_as_uint(__uint_as_float(sign | kept) + kAligner) & 0xFFU;
    }
};

}  // namespace ascend_deepep::kernel

#endif  // ASCEND_DEEPEP_QUANT_INT8_H
