// SPDX-License-Identifier: Apache-2.0
// Copies into and out of windows by the block rule: of each block first the data, then the flag area, its tag last by a
// release store. Layer: twin/fabric; this is how the twin keeps assumption A1 (docs/protocol.md) between processes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "twin/runtime/gm_hooks.h"

namespace ascend_deepep::twin {

// `dst` lies in a window, so its address modulo 512 is its place in a block. Any range; no overlap with `src`. Whole
// blocks may go past the caches.
void write_window(uint8_t* dst, const uint8_t* src, size_t bytes, bool is_past_caches = false);

// `src` lies in a window. A range that starts in a flag area has its tag read before anything else of the range.
void read_window(uint8_t* dst, const uint8_t* src, size_t bytes);
void read_window(const Pieces& pieces);

}  // namespace ascend_deepep::twin
