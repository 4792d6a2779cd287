// SPDX-License-Identifier: Apache-2.0
//
// Static int8: value = nearest int8 of x * s, s one number or a row of them. No scale travels. Layer: quant.
#ifndef ASCEND_DEEPEP_QUANT_STATIC_INT8_H
#define ASCEND_DEEPEP_QUANT_STATIC_INT8_H

#include "quant/image.h"
#include "quant/int8.h"

namespace ascend_deepep::kernel {

// One factor for all elements, as its bits: it comes from GM, where scalar code reads words.
template <typename T>
__simt_vf__ __launch_bounds__(1024) inline void quantise_by_scalar(__ubuf__ uint8_t* image, __ubuf__ uint4* row,
                                                                   uint32_t factor_bits, uint32_t hidden) {
    const float factor = __uint_as_float(factor_bits);
    for (uint32_t pack = threadIdx.x; pack < hidden / kPackElements; pack += blockDim.x) {
        float low[kPackWords], high[kPackWords];
        load_pack<T>(low, high, row, pack);
        store_scaled<Int8>(image, pack, low, high, factor);
    }
}

// A factor for each element.
template <typename T>
__simt_vf__ __launch_bounds__(1024) inline void quantise_by_row(__ubuf__ uint8_t* image, __ubuf__ uint4* row,
                                                                __ubuf__ float2* factors, uint32_t hidden) {
    for (uint32_t pack = threadIdx.x; pack < hidden / kPackElements; pack += blockDim.x) {
        float low[kPackWords], high[kPackWords];
        load_smoothed<T, true>(low, high, row, factors, pack);
        store_scaled<Int8>(image, pack, low, high, 1.0F);
    }
}

}  // namespace ascend_deepep::kernel

#endif  // ASCEND_DEEPEP_QUANT_STATIC_INT8_H
