// SPDX-License-Identifier: Apache-2.0
// Copies of whole 16 B units that the compiler turns into plain loads and stores: a call of memcpy for each 480 B of a
// block costs three times as much. Layer: twin/runtime.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace ascend_deepep::twin {

// In two steps: clang takes an alignment below the vector's own only for a name of an existing type.
using AlignedCopyUnit = uint64_t __attribute__((vector_size(16)));
using CopyUnit __attribute__((aligned(1), may_alias)) = AlignedCopyUnit;

inline void copy_units(uint8_t* dst, const uint8_t* src, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        reinterpret_cast<CopyUnit*>(dst)[i] = reinterpret_cast<const CopyUnit*>(src)[i];
    }
}

constexpr size_t kInlineCopyBytes = 512;  // above it memcpy is as good

inline void copy_piece(uint8_t* dst, const uint8_t* src, size_t bytes) {
    if (bytes > kInlineCopyBytes || bytes % sizeof(CopyUnit) != 0) {
        std::memcpy(dst, src, bytes);
    } else {
        copy_units(dst, src, bytes / sizeof(CopyUnit));
    }
}

}  // namespace ascend_deepep::twin
