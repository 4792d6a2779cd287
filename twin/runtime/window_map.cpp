// SPDX-License-Identifier: Apache-2.0
// What is wrong with a word access beside the own window. Layer: twin/runtime.
#include "twin/runtime/window_map.h"

namespace ascend_deepep::twin {

void refuse_window_word(const WindowMap& windows, const void* p, size_t bytes, bool write) {
    const char* operation = write ? "GM store" : "GM load";
    const uint64_t in_own = reinterpret_cast<uintptr_t>(p) - reinterpret_cast<uintptr_t>(windows.own);
    require(in_own >= windows.own_bytes, rules::kWindowRange, operation, in_own + bytes, windows.own_bytes,
            "check the offset against the window layout");
    raise_fault({operation,
                 &rules::kPeerWindow,
                 in_own,
                 windows.own_bytes,
                 "let the peer put what is needed, and write to it by put_block",
                 {nullptr, 0},
                 p});
}

}  // namespace ascend_deepep::twin
