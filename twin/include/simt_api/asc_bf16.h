// SPDX-License-Identifier: Apache-2.0
// bfloat16_t in SIMT code: conversions and words.
// Layer: twin/include, the real header's name.
#pragma once

#include "simt_api/asc_fp16.h"

__simt_callee__ inline float __bfloat162float(const bfloat16_t x) {
    return static_cast<float>(x);
}
__simt_callee__ inline bfloat16_t __float2bfloat16(const float x) {
    return bfloat16_t(x);
}
__simt_callee__ inline bfloat16_t __float2bfloat16_rn(const float x) {
    return bfloat16_t(x);
}
__simt_callee__ inline bfloat16_t __ushort_as_bfloat16(const unsigned short x) {
    return bfloat16_t::from_bits(x);
}
__simt_callee__ inline bfloat16x2_t __float22bfloat162_rn(const float2 x) {
    return {bfloat16_t(x.x), bfloat16_t(x.y)};
}
__simt_callee__ inline bfloat16x2_t __floats2bfloat162_rn(const float x, const float y) {
    return {bfloat16_t(x), bfloat16_t(y)};
}
__simt_callee__ inline float2 __bfloat1622float2(const bfloat16x2_t x) {
    return {static_cast<float>(x.x), static_cast<float>(x.y)};
}
__simt_callee__ inline bfloat16_t __low2bfloat16(const bfloat16x2_t x) {
    return x.x;
}
__simt_callee__ inline bfloat16_t __high2bfloat16(const bfloat16x2_t x) {
    return x.y;
}
