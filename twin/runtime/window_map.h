// SPDX-License-Identifier: Apache-2.0
// Where windows lie, as a core needs it for each word it reads or writes: a core touches single words of its own window
// only. Layer: twin/runtime. Two compares in line under every policy.
#pragma once

#include <cstddef>
#include <cstdint>

#include "twin/runtime/kernel_fault.h"

namespace ascend_deepep::twin {

struct WindowMap {
    const void* all = nullptr;  // one stretch of addresses that holds every window, the own one too
    uint64_t all_bytes = 0;
    const void* own = nullptr;
    uint64_t own_bytes = 0;

    bool contains(const void* p) const {
        return reinterpret_cast<uintptr_t>(p) - reinterpret_cast<uintptr_t>(all) < all_bytes;
    }
};

// Tells which rule a word access that lies in `windows`, but not in the own window, breaks.
[[noreturn]] void refuse_window_word(const WindowMap& windows, const void* p, size_t bytes, bool write);

// Throws KernelFault when [p, p + bytes) touches a window and is not inside the own one.
[[gnu::always_inline]] inline void require_own_window(const WindowMap& windows, const void* p, size_t bytes,
                                                      bool write) {
    const uint64_t in_own = reinterpret_cast<uintptr_t>(p) - reinterpret_cast<uintptr_t>(windows.own);
    if (in_own < windows.own_bytes && bytes <= windows.own_bytes - in_own) {
        return;
    }
    if (__builtin_expect(windows.contains(p), 0)) {
        refuse_window_word(windows, p, bytes, write);
    }
}

}  // namespace ascend_deepep::twin
