// SPDX-License-Identifier: Apache-2.0
// The copies that all data of fast mode goes through, as the instruction set of this CPU has them. Layer: twin/runtime.
#pragma once

#include <cstddef>
#include <cstdint>

#include "twin/runtime/pieces.h"

namespace ascend_deepep::twin {

struct CopyKernels {
    const char* isa;  // of the copies: baseline, x86_64_v3 or x86_64_v4
    // `count` whole blocks to a block boundary: of each the data, then its flag area, the tag last, by a release store.
    void (*write_blocks)(uint8_t* dst, const uint8_t* src, size_t count);
    // The same past the caches. A tag is stored after the data of all the blocks.
    void (*stream_blocks)(uint8_t* dst, const uint8_t* src, size_t count);
    // Any bytes past the caches; they are in memory before what the thread stores afterwards.
    void (*stream)(uint8_t* dst, const uint8_t* src, size_t bytes);
    // Pieces in order, each in any order: none holds a word that another thread writes meanwhile.
    void (*read_pieces)(const Pieces& pieces);
};

// Of this CPU, chosen once.
const CopyKernels& copy_kernels();

// Those of `isa`, for tests; null where this CPU or this build lacks it.
const CopyKernels* copy_kernels_of(const char* isa);

}  // namespace ascend_deepep::twin
