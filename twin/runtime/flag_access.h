// SPDX-License-Identifier: Apache-2.0
// Every access to a word that another process reads or writes at the same time: tags of blocks, wake-up words, states.
// Layer: twin/runtime; docs/protocol.md, A1. Nothing else in the project touches such words, so that one build of this
// header under a race detector covers all of them. A plain copy of a flag area tears: processes saw half a tag.
#pragma once

#include <cstdint>

namespace ascend_deepep::twin {

// Only the test that proves the race detector awake weakens this order.
#if defined(ASCEND_DEEPEP_TEST_RELAXED_FLAGS)
constexpr int kTagStoreOrder = __ATOMIC_RELAXED;
#else
constexpr int kTagStoreOrder = __ATOMIC_RELEASE;
#endif

// `word` is 8 B aligned: the first 8 B of a flag area. Always in line: leaf units of several instruction sets use them.
[[gnu::always_inline]] inline uint64_t load_tag(const void* word) {
    return __atomic_load_n(static_cast<const uint64_t*>(word), __ATOMIC_ACQUIRE);
}
[[gnu::always_inline]] inline void store_tag(void* word, uint64_t tag) {
    __atomic_store_n(static_cast<uint64_t*>(word), tag, kTagStoreOrder);
}

inline uint32_t load_state(const uint32_t* word) {
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}
inline void store_state(uint32_t* word, uint32_t value) {
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

// Wake-ups need one total order: the waker bumps, then looks for sleepers; the sleeper says so, then looks at the word.
inline uint32_t load_wake_word(const uint32_t* word) {
    return __atomic_load_n(word, __ATOMIC_SEQ_CST);
}
inline void store_wake_word(uint32_t* word, uint32_t value) {
    __atomic_store_n(word, value, __ATOMIC_SEQ_CST);
}
inline void bump_wake_word(uint32_t* word) {
    __atomic_fetch_add(word, 1U, __ATOMIC_SEQ_CST);
}

}  // namespace ascend_deepep::twin
