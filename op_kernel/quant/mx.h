// SPDX-License-Identifier: Apache-2.0
//
// MX: one power of two per 32 elements, as the byte of its biased exponent (e8m0); the elements are fp8. Layer: quant.
#ifndef ASCEND_DEEPEP_QUANT_MX_H
#define ASCEND_DEEPEP_QUANT_MX_H

#include "quant/fp8.h"
#include "quant/image.h"

namespace ascend_deepep::kernel {

constexpr uint32_t kMxPacks = kMxGroup / kPackElements;
constexpr uint32_t kMxNan = 0xFFU;
// Groups of a thread: their scales are one word of the image.
constexpr uint32_t kMxGroupsOfWord = 4;

// Quantises packs [first, last), a group, and returns its scale. With E the largest biased exponent the scale is
// max(E, emax) - emax, the elements x / 2^(scale - 127). Up to twice the largest number may come out: that saturates.
template <typename T, typename Format>
__simt_callee__ inline uint32_t quantise_mx_group(__ubuf__ uint8_t* image, __ubuf__ uint4* row, uint32_t first,
                                                  uint32_t last) {
    float low[kPackWords], high[kPackWords];
    uint32_t largest = 0;
    for (uint32_t pack = first; pack < last; ++pack) {
        load_pack<T>(low, high, row, pack);
        largest = larger(largest, largest_bits(low, high));
    }
    const uint32_t exponent = largest >> 23;
    if (exponent == 0) {  // zeros, and subnormal bf16: too small for the smallest scale
        for (uint32_t pack = first; pack < last; ++pack)
            store_zeros(image, pack);
        return 0;
    }
    const uint32_t scale = larger(exponent, Format::kMaxExponent) - Format::kMaxExponent;
    // A NaN or an infinity makes all its group NaN, as scale and as elements.
    const bool is_nan = exponent == kMxNan;
    const float factor = __uint_as_float(choose(is_nan, kFloatNan, (254U - scale) << 23));
    for (uint32_t pack = first; pack < last; ++pack) {
        load_pack<T>(low, high, row, pack);
        store_scaled<Format>(image, pack, low, high, factor);
    }
    return choose(is_nan, kMxNan, scale);
}

// Values from logical byte 0, scales from `scale_offset`, zeros behind the last one up to a whole word.
template <typename T, typename Format>
__simt_vf__ __launch_bounds__(1024) inline void quantise_mx(__ubuf__ uint8_t* image, __ubuf__ uint4* row,
                                                            uint32_t hidden, uint32_t scale_offset) {
    constexpr uint32_t kWordPacks = kMxGroupsOfWord * kMxPacks;
    const uint32_t num_packs = hidden / kPackElements;
    const uint32_t num_words = (num_packs + kWordPacks - 1) / kWordPacks;
    for (uint32_t word = threadIdx.x; word < num_words; word += blockDim.x) {
        uint32_t scales = 0;
        for (uint32_t i = 0; i < kMxGroupsOfWord; ++i) {
            const uint32_t first = smaller(word * kWordPacks + i * kMxPacks, num_packs);
            const uint32_t last = smaller(first + kMxPacks, num_packs);
            scales |= quantise_mx_group<T, Format>(image, row, first, last) << (8 * i);
        }
        store_word(image, scale_offset + word * static_cast<uint32_t>(sizeof(uint32_t)), scales);
    }
}

}  // namespace ascend_deepep::kernel

#endif  // ASCEND_DEEPEP_QUANT_MX_H
