// SPDX-License-Identifier: Apache-2.0
//
// Combine's int8 wire: groups of 8 elements with a scale in the row's own type. Layer: quant.
// The sender divides by the float32 scale, the receiver multiplies by the rounded one: that asymmetry is part of it.
#ifndef ASCEND_DEEPEP_QUANT_COMBINE_INT8_H
#define ASCEND_DEEPEP_QUANT_COMBINE_INT8_H

#include "quant/image.h"
#include "quant/int8.h"

namespace ascend_deepep::kernel {

constexpr uint32_t kWireGroups = kPackElements / kCombineGroup;  // of a pack
static_assert(kWireGroups == 2, "the scales of a pack are one word");
constexpr uint32_t kWireGroupWords = kPackWords / kWireGroups;
constexpr uint32_t kPackQuads = kPackElements / 4;  // words of four int8

__simt_callee__ inline void store_scales(__ubuf__ bfloat16x2_t* to, float first, float second, bfloat16_t) {
    *to = __floats2bfloat162_rn(first, second);
}
__simt_callee__ inline void store_scales(__ubuf__ half2* to, float first, float second, half) {
    *to = __floats2half2_rn(first, second);
}
// Where the scales of a pack are, in the type that a pair of T has.
__simt_callee__ inline __ubuf__ bfloat16x2_t* scales_at(__ubuf__ uint8_t* at, bfloat16_t) {
    return (__ubuf__ bfloat16x2_t*)at;
}
__simt_callee__ inline __ubuf__ half2* scales_at(__ubuf__ uint8_t* at, half) {
    return (__ubuf__ half2*)at;
}

// The float32 scale of a group, given its elements.
__simt_callee__ inline float wire_scale(const float* low, const float* high) {
    uint32_t largest = 0;
    ASCEND_DEEPEP_KEEP_LOOP
    for (uint32_t i = 0; i < kWireGroupWords; ++i) {
        largest = larger(largest, __float_as_uint(low[i]) & kFloatMagnitude);
        largest = larger(largest, __float_as_uint(high[i]) & kFloatMagnitude);
    }
    return __uint_as_float(one_nan(largest)) * (1.0F / 127.0F);
}

// A quotient rounded to the 11 bits of fp16: the published kernel's detour on its way to int8. Where fp16 would be
// subnormal or infinite the int8 is 0 or saturated with or without it. The low bits of a NaN here are those of a 16-bit
// element, zeros, so that no carry leaves it.
__simt_callee__ inline float in_half_bits(float quotient) {
    const uint32_t bits = __float_as_uint(quotient);
    return __uint_as_float((bits + 0xFFFU + ((bits >> 13) & 1U)) & ~0x1FFFU);
}

__simt_callee__ inline void wire_codes(uint32_t* codes, const float* elements, float scale) {
    ASCEND_DEEPEP_KEEP_LOOP
    for (uint32_t i = 0; i < kWireGroupWords; ++i)
        codes[i] = Int8::code(in_half_bits(elements[i] / scale));  // 0 / 0 is NaN, whose code is 0
}

// Values from logical byte 0, scales from `scale_offset`.
template <typename T>
__simt_vf__ __launch_bounds__(1024) inline void quantise_wire(__ubuf__ uint8_t* image, __ubuf__ uint4* row,
                                                              uint32_t hidden, uint32_t scale_offset) {
    for (uint32_t pack = threadIdx.x; pack < hidden / kPackElements; pack += blockDim.x) {
        float low[kPackWords], high[kPackWords];
        uint32_t low_codes[kPackWords], high_codes[kPackWords];
        load_pack<T>(low, high, row, pack);
        const float first = wire_scale(low, high);
        const float second = wire_scale(low + kWireGroupWords, high + kWireGroupWords);
        wire_codes(low_codes, low, first);
        wire_codes(high_codes, high, first);
        wire_codes(low_codes + kWireGroupWords, low + kWireGroupWords, second);
        wire_codes(high_codes + kWireGroupWords, high + kWireGroupWords, second);
        store_pack(image, pack, low_codes, high_codes);
        const uint32_t at = scale_offset + pack * kWireGroups * kElementBytes;
        store_scales(scales_at(image + image_offset(at), T()), first, second, T());
    }
}

// Byte `index` of a word, signed.
__simt_callee__ inline float signed_byte(uint32_t word, uint32_t index) {
    return __int2float_rn(static_cast<int32_t>(word << (24 - 8 * index)) >> 24);
}

// `num_packs` packs of values and their scales, both contiguous in UB, to elements of T.
template <typename T>
__simt_vf__ __launch_bounds__(1024) inline void decode_wire(__ubuf__ T* out, __ubuf__ uint4* values,
                                                            __ubuf__ uint32_t* scales, uint32_t num_packs) {
    for (uint32_t pack = threadIdx.x; pack < num_packs; pack += blockDim.x) {
        const uint4 quads = values[pack];
        const float first = low_element(scales[pack], T());
        const float second = high_element(scales[pack], T());
        const uint32_t words[kPackQuads] = {quads.x, quads.y, quads.z, quads.w};
        const float factors[kPackQuads] = {first, first, second, second};
        __ubuf__ T* to = out + pack * kPackElements;
        ASCEND_DEEPEP_KEEP_LOOP
        for (uint32_t i = 0; i < kPackQuads; ++i) {
            round_to(to + 4 * i, signed_byte(words[i], 0) * factors[i]);
            round_to(to + 4 * i + 1, signed_byte(words[i], 1) * factors[i]);
            round_to(to + 4 * i + 2, signed_byte(words[i], 2) * factors[i]);
            round_to(to + 4 * i + 3, signed_byte(words[i], 3) * factors[i]);
        }
    }
}

}  // namespace ascend_deepep::kernel

#endif  // ASCEND_DEEPEP_QUANT_COMBINE_INT8_H
