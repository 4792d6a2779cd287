// SPDX-License-Identifier: Apache-2.0
//
// Stores of SIMT code into an image of 512 B blocks: 480 B of data, then the flag area, which stays as it is. Layer:
// quant. protocol/put_block.h makes such images; `logical` counts data bytes, as it does there.
#ifndef ASCEND_DEEPEP_QUANT_IMAGE_H
#define ASCEND_DEEPEP_QUANT_IMAGE_H

#include "quant/element.h"

namespace ascend_deepep::kernel {

// slot_offset of the contract in 32 bits: a SIMT thread has no 64-bit division to spare.
__simt_callee__ inline uint32_t image_offset(uint32_t logical) {
    return logical / kBlockDataBytes * kFlagBytes + logical;
}

__simt_callee__ inline void store_word(__ubuf__ uint8_t* image, uint32_t logical, uint32_t word) {
    *(__ubuf__ uint32_t*)(image + image_offset(logical)) = word;
}

// The bytes of a pack, one element each: bits 0 to 7 of the codes. 16 B never cross a block's data.
__simt_callee__ inline void store_pack(__ubuf__ uint8_t* image, uint32_t pack, const uint32_t* low,
                                       const uint32_t* high) {
    uint32_t pairs[kPackWords];
    ASCEND_DEEPEP_KEEP_LOOP
    for (uint32_t i = 0; i < kPackWords; ++i)
        pairs[i] = low[i] | (high[i] << 8);
    *(__ubuf__ uint4*)(image + image_offset(pack * kPackElements)) =
        make_uint4(pairs[0] | (pairs[1] << 16), pairs[2] | (pairs[3] << 16), pairs[4] | (pairs[5] << 16),
                   pairs[6] | (pairs[7] << 16));
}

// The elements of a pack in the 8 bits of `Format`, each times `factor`.
template <typename Format>
__simt_callee__ inline void store_scaled(__ubuf__ uint8_t* image, uint32_t pack, const float* low, const float* high,
                                         float factor) {
    uint32_t low_codes[kPackWords], high_codes[kPackWords];
    ASCEND_DEEPEP_KEEP_LOOP
    for (uint32_t i = 0; i < kPackWords; ++i) {
        low_codes[i] = Format::code(low[i] * factor);
        high_codes[i] = Format::code(high[i] * factor);
    }
    store_pack(image, pack, low_codes, high_codes);
}

// A pack of zeros, without a sign.
__simt_callee__ inline void store_zeros(__ubuf__ uint8_t* image, uint32_t pack) {
    *(__ubuf__ uint4*)(image + image_offset(pack * kPackElements)) = make_uint4(0, 0, 0, 0);
}

}  // namespace ascend_deepep::kernel

#endif  // ASCEND_DEEPEP_QUANT_IMAGE_H
