// SPDX-License-Identifier: Apache-2.0
// What copy_leaf.cpp has for each instruction set. Layer: twin/runtime; only copy_kernels.cpp calls it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "twin/runtime/pieces.h"

#define ASCEND_DEEPEP_DECLARE_COPIES(isa)                                        \
    namespace ascend_deepep::twin::isa {                                         \
    void write_blocks(uint8_t* dst, const uint8_t* src, size_t count);           \
    void stream_blocks(uint8_t* dst, const uint8_t* src, size_t count);          \
    void stream_blocks_by_lines(uint8_t* dst, const uint8_t* src, size_t count); \
    void stream(uint8_t* dst, const uint8_t* src, size_t bytes);                 \
    void read_pieces(const Pieces& pieces);                                      \
    }

ASCEND_DEEPEP_DECLARE_COPIES(baseline)
#if defined(ASCEND_DEEPEP_ISA_VARIANTS)
ASCEND_DEEPEP_DECLARE_COPIES(x86_64_v3)
ASCEND_DEEPEP_DECLARE_COPIES(x86_64_v4)
#endif
