// SPDX-License-Identifier: Apache-2.0
// Polling outside the wait primitive: a core that looks at the same word for ever never gives way, and the twin, whose
// cores share a thread, would hang. Layer: twin/runtime. One compare and one counter a look; a watched word is dropped
// once so many other words were read, so a loop over a few words is seen, and a walk through memory is not.
#pragma once

#include <cstdint>
#include <cstring>

#include "twin/runtime/core.h"

namespace ascend_deepep::twin {

constexpr uint32_t kMaxLooks = uint32_t{1} << 22;  // a few ms; no loop over tokens and experts comes near
constexpr uint32_t kWatchedTogether = 16;

// The first 64 bits of a value, as note_look compares them.
template <typename T>
inline uint64_t first_word(const T& value) {
    uint64_t word = 0;
    std::memcpy(&word, &value, sizeof(T) < sizeof(word) ? sizeof(T) : sizeof(word));
    return word;
}

// The watched word was read again, or the watch passes on to another word.
void note_repeated_look(Core& core, const char* operation, const void* word, uint64_t value);

// `value` is what the core has just read from `word`.
[[gnu::always_inline]] inline void note_look(const char* operation, const void* word, uint64_t value) {
    Core& core = current_core();
    if (__builtin_expect(core.looks.word != word, 1) && ++core.looks.others < kWatchedTogether) {
        return;
    }
    note_repeated_look(core, operation, word, value);
}

}  // namespace ascend_deepep::twin
