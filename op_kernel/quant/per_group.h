// SPDX-License-Identifier: Apache-2.0
//
// One float32 scale per 128 elements, which are fp8. Layer: quant.
#ifndef ASCEND_DEEPEP_QUANT_PER_GROUP_H
#define ASCEND_DEEPEP_QUANT_PER_GROUP_H

#include "quant/fp8.h"
#include "quant/scale.h"

namespace ascend_deepep::kernel {

constexpr uint32_t kGroupPacks = kScaleGroup / kPackElements;

// Values from logical byte 0, scales from `scale_offset`. A thread takes a group: its maximum is the thread's own. The
// last group may be short.
template <typename T, typename Format, bool kIsSmoothed>
__simt_vf__ __launch_bounds__(1024) inline void quantise_groups(__ubuf__ uint8_t* image, __ubuf__ uint4* row,
                                                                __ubuf__ float2* smooth, uint32_t hidden,
                                                                uint32_t scale_offset) {
    const uint32_t num_packs = hidden / kPackElements;
    const uint32_t num_groups = (num_packs + kGroupPacks - 1) / kGroupPacks;
    for (uint32_t group = threadIdx.x; group < num_groups; group += blockDim.x) {
        const uint32_t first = group * kGroupPacks;
        const uint32_t last = smaller(first + kGroupPacks, num_packs);
        float low[kPackWords], high[kPackWords];
        uint32_t largest = 0;
        for (uint32_t pack = first; pack < last; ++pack) {
            load_smoothed<T, kIsSmoothed>(low, high, row, smooth, pack);
            largest = larger(largest, largest_bits(low, high));
        }
        const float factor = Format::kMax / __uint_as_float(largest);
        for (uint32_t pack = first; pack < last; ++pack) {
            load_smoothed<T, kIsSmoothed>(low, high, row, smooth, pack);
            store_quantised<Format>(image, pack, low, high, factor);
        }
        store_word(image, scale_offset + group * static_cast<uint32_t>(sizeof(float)), scale_bits(factor));
    }
}

}  // namespace ascend_deepep::kernel

#endif  // ASCEND_DEEPEP_QUANT_PER_GROUP_H
