// SPDX-License-Identifier: Apache-2.0
// SIMT atomics with the types that each memory has: 32-bit words in UB and GM, 64-bit words in GM only.
// Layer: twin/include, the real header's name. Each returns the old value. UB is private to a core and a VF runs on
// one OS thread, so UB words need no host atomics.
#pragma once

#include "twin_detail/keywords.h"
#include "twin_detail/scalar.h"

namespace ascend_deepep::twin {

// Keeps the value argument out of deduction: the pointer alone chooses the overload, as with the real declarations.
template <typename T>
struct Same {
    using Type = T;
};
template <typename T>
using SameT = typename Same<T>::Type;

template <typename T>
constexpr bool kIsAtomicWord = kIsOneOf<T, int32_t, uint32_t, float, int64_t, uint64_t>;
template <typename T>
constexpr bool kIsAtomicCounter = kIsOneOf<T, uint32_t, uint64_t>;
template <typename T>
constexpr bool kIsAtomicBits = kIsOneOf<T, int32_t, uint32_t, int64_t, uint64_t>;

// Decides by the address; true for UB.
template <typename T>
inline bool enter_simt_atomic(const char* operation, const T* p) {
    require(reinterpret_cast<uintptr_t>(p) % sizeof(T) == 0, rules::kWordAlignment, operation,
            reinterpret_cast<uintptr_t>(p) % sizeof(T), sizeof(T), "align the address");
    if (is_ub(p)) {
        require(sizeof(T) <= 4, rules::kAtomicMemory, operation, sizeof(T), 4, "use a 32-bit counter in UB");
        return true;
    }
    touch_gm(p, sizeof(T), true);
    return false;
}

template <typename T, typename Op>
inline T simt_atomic(const char* operation, T* p, Op op) {
    if (enter_simt_atomic(operation, p)) {
        const T old_value = *p;
        *p = op(old_value);
        return old_value;
    }
    const T old_value = update_word(p, op);
    note_look(operation, p, first_word(old_value));
    return old_value;
}

}  // namespace ascend_deepep::twin

#define ASCEND_DEEPEP_ATOMIC(name, types, expression)                                                            \
    template <typename T>                                                                                        \
    __simt_callee__ inline T name(T* address, ascend_deepep::twin::SameT<T> val) {                               \
        static_assert(ascend_deepep::twin::types<T>, ASCEND_DEEPEP_ATOMIC_TYPES);                                \
        return ascend_deepep::twin::simt_atomic(#name, address, [val](T old_value) -> T { return expression; }); \
    }

ASCEND_DEEPEP_ATOMIC(asc_atomic_sub, kIsAtomicWord, old_value - val)
ASCEND_DEEPEP_ATOMIC(asc_atomic_max, kIsAtomicWord, old_value < val ? val : old_value)
ASCEND_DEEPEP_ATOMIC(asc_atomic_min, kIsAtomicWord, val < old_value ? val : old_value)
ASCEND_DEEPEP_ATOMIC(asc_atomic_inc, kIsAtomicCounter, old_value >= val ? T{0} : old_value + 1)
ASCEND_DEEPEP_ATOMIC(asc_atomic_dec, kIsAtomicCounter, old_value == 0 || old_value > val ? val : old_value - 1)
ASCEND_DEEPEP_ATOMIC(asc_atomic_and, kIsAtomicBits, old_value& val)
ASCEND_DEEPEP_ATOMIC(asc_atomic_or, kIsAtomicBits, old_value | val)
ASCEND_DEEPEP_ATOMIC(asc_atomic_xor, kIsAtomicBits, old_value ^ val)

#undef ASCEND_DEEPEP_ATOMIC

template <typename T>
__simt_callee__ inline T asc_atomic_add(T* address, ascend_deepep::twin::SameT<T> val) {
    static_assert(ascend_deepep::twin::kIsAtomicWord<T>, ASCEND_DEEPEP_ATOMIC_TYPES);
    if (ascend_deepep::twin::enter_simt_atomic("asc_atomic_add", address)) {
        const T old_value = *address;
        *address = old_value + val;
        return old_value;
    }
    const T old_value = ascend_deepep::twin::add_word(address, val);
    ascend_deepep::twin::note_look("asc_atomic_add", address, ascend_deepep::twin::first_word(old_value));
    return old_value;
}

template <typename T>
__simt_callee__ inline T asc_atomic_exch(T* address, ascend_deepep::twin::SameT<T> val) {
    static_assert(ascend_deepep::twin::kIsAtomicWord<T>, ASCEND_DEEPEP_ATOMIC_TYPES);
    return ascend_deepep::twin::simt_atomic("asc_atomic_exch", address, [val](T) { return val; });
}

// Writes val where the word equals compare.
template <typename T>
__simt_callee__ inline T asc_atomic_cas(T* address, ascend_deepep::twin::SameT<T> compare,
                                        ascend_deepep::twin::SameT<T> val) {
    static_assert(ascend_deepep::twin::kIsAtomicWord<T>, ASCEND_DEEPEP_ATOMIC_TYPES);
    return ascend_deepep::twin::simt_atomic(
        "asc_atomic_cas", address, [compare, val](T old_value) { return old_value == compare ? val : old_value; });
}
