// SPDX-License-Identifier: Apache-2.0
//
// One float32 scale a row, of int8 or fp8 elements. Layer: quant.
#ifndef ASCEND_DEEPEP_QUANT_PER_TOKEN_H
#define ASCEND_DEEPEP_QUANT_PER_TOKEN_H

#include "quant/fp8.h"
#include "quant/int8.h"
#include "quant/scale.h"

namespace ascend_deepep::kernel {

// UB of `largest`: a word of each thread.
constexpr uint32_t kTokenScratchBytes = 1024 * sizeof(uint32_t);

// Values from logical byte 0, the scale at `scale_offset`. `smooth` is read where kIsSmoothed.
template <typename T, typename Format, bool kIsSmoothed>
__simt_vf__ __launch_bounds__(1024) inline void quantise_token(__ubuf__ uint8_t* image, __ubuf__ uint4* row,
                                                               __ubuf__ float2* smooth, __ubuf__ uint32_t* largest,
                                                               uint32_t hidden, uint32_t scale_offset) {
    float low[kPackWords], high[kPackWords];
    uint32_t own = 0;
    for (uint32_t pack = threadIdx.x; pack < hidden / kPackElements; pack += blockDim.x) {
        load_smoothed<T, kIsSmoothed>(low, high, row, smooth, pack);
        own = larger(own, largest_bits(low, high));
    }
    largest[threadIdx.x] = own;
    asc_syncthreads();
    uint32_t all = 0;
    for (uint32_t thread = 0; thread < blockDim.x; ++thread)
        all = larger(all, largest[thread]);
    const float factor = Format::kMax / __uint_as_float(all);
    for (uint32_t pack = threadIdx.x; pack < hidden / kPackElements; pack += blockDim.x) {
        load_smoothed<T, kIsSmoothed>(low, high, row, smooth, pack);
        store_quantised<Format>(image, pack, low, high, factor);
    }
    if (threadIdx.x == 0) store_word(image, scale_offset, scale_bits(factor));
}

}  // namespace ascend_deepep::kernel

#endif  // ASCEND_DEEPEP_QUANT_PER_TOKEN_H
