// SPDX-License-Identifier: Apache-2.0
// Several pieces of one copy. Layer: twin/runtime; leaf units include it, so it holds data only.
#pragma once

#include <cstdint>

namespace ascend_deepep::twin {

// One copy of several pieces of the same size, at regular distances on both sides.
struct Pieces {
    uint8_t* dst;
    const uint8_t* src;
    int64_t dst_step;
    int64_t src_step;
    uint32_t count;
    uint32_t bytes;
};

}  // namespace ascend_deepep::twin
