// SPDX-License-Identifier: Apache-2.0
//
// Factor and scale of elements that share one: factor = MAX / largest, scale = 1 / factor, both rounded. Layer: quant.
// Two divisions, as the published kernels have it: largest / MAX would be another number.
#ifndef ASCEND_DEEPEP_QUANT_SCALE_H
#define ASCEND_DEEPEP_QUANT_SCALE_H

#include "quant/image.h"

namespace ascend_deepep::kernel {

// Of largest = 0, and of one so small that the division overflows, the factor is infinite and nothing is left: zeros
// and scale 0 = 1 / infinity. Infinity has factor 0, hence scale infinity; NaN has NaN.
__simt_callee__ inline bool is_nothing(float factor) {
    return __float_as_uint(factor) == kFloatInfinity;
}

__simt_callee__ inline uint32_t scale_bits(float factor) {
    return one_nan(__float_as_uint(1.0F / factor));
}

// One pack of a group by the group's factor.
template <typename Format>
__simt_callee__ inline void store_quantised(__ubuf__ uint8_t* image, uint32_t pack, const float* low, const float* high,
                                            float factor) {
    if (is_nothing(factor)) {
        store_zeros(image, pack);
    } else {
        store_scaled<Format>(image, pack, low, high, factor);
    }
}

}  // namespace ascend_deepep::kernel

#endif  // ASCEND_DEEPEP_QUANT_SCALE_H
