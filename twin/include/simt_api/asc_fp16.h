// SPDX-License-Identifier: Apache-2.0
// half in SIMT code: conversions and words.
// Layer: twin/include, the real header's name. No saturation here: that is the _sat forms' business.
#pragma once

#include "simt_api/device_functions.h"
#include "twin_detail/float16.h"
#include "twin_detail/short_vectors.h"

__simt_callee__ inline float __half2float(const half x) {
    return static_cast<float>(x);
}
__simt_callee__ inline half __float2half(const float x) {
    return half(x);
}
__simt_callee__ inline half __float2half_rn(const float x) {
    return half(x);
}
__simt_callee__ inline half __ushort_as_half(const unsigned short x) {
    return half::from_bits(x);
}
__simt_callee__ inline half2 __floats2half2_rn(const float x, const float y) {
    return {half(x), half(y)};
}
__simt_callee__ inline half2 __float22half2_rn(const float2 x) {
    return {half(x.x), half(x.y)};
}
__simt_callee__ inline float __low2float(const half2 x) {
    return static_cast<float>(x.x);
}
__simt_callee__ inline float __high2float(const half2 x) {
    return static_cast<float>(x.y);
}
__simt_callee__ inline half2 __halves2half2(const half x, const half y) {
    return {x, y};
}
__simt_callee__ inline half __low2half(const half2 x) {
    return x.x;
}
__simt_callee__ inline half __high2half(const half2 x) {
    return x.y;
}
