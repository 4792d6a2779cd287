// SPDX-License-Identifier: Apache-2.0
// What stands behind asc_ldcg, asc_ldca, asc_stcg and asc_stwt.
// Layer: twin/include.
#pragma once

#include <cstring>

#include "twin/runtime/polling.h"
#include "twin_detail/policy.h"
#include "twin_detail/short_vectors.h"

namespace ascend_deepep::twin {

template <typename T>
constexpr bool kIsGmScalar = kIsOneOf<T, long, unsigned long, long long, unsigned long long, signed char, unsigned char,
                                      short, unsigned short, int, unsigned int, float, half, bfloat16_t>;
template <typename T>
constexpr bool kIsGmVector =
    kIsOneOf<T, long2, ulong2, long4, ulong4, longlong2, ulonglong2, longlong4, ulonglong4, char2, uchar2, char4,
             uchar4, short2, ushort2, short4, ushort4, int2, uint2, int4, uint4, float2, float4, half2, bfloat16x2_t>;
template <typename T>
constexpr bool kIsGmType = kIsGmScalar<T> || kIsGmVector<T>;

[[gnu::always_inline]] inline void enter_gm(const char* operation, const void* p, size_t bytes) {
    require(!is_ub(p), rules::kGmOnly, operation, bytes, 0, "dereference UB pointers directly");
    require(reinterpret_cast<uintptr_t>(p) % bytes == 0, rules::kWordAlignment, operation,
            reinterpret_cast<uintptr_t>(p) % bytes, bytes, "align the address or use a narrower type");
}

template <size_t kBytes>
using GmWord =
    std::conditional_t<kBytes == 8, uint64_t,
                       std::conditional_t<kBytes == 4, uint32_t, std::conditional_t<kBytes == 2, uint16_t, uint8_t>>>;

template <typename T>
inline T load_gm(const char* operation, GmPath path, const T* p) {
    enter_gm(operation, p, sizeof(T));
    T value;
    if (!load_modelled(path, p, &value, sizeof(T))) {
        touch_gm(p, sizeof(T), false);
        if constexpr (sizeof(T) <= 8) {
            const auto word = __atomic_load_n(reinterpret_cast<const GmWord<sizeof(T)>*>(p), __ATOMIC_ACQUIRE);
            std::memcpy(static_cast<void*>(&value), &word, sizeof(T));
        } else {
            std::memcpy(static_cast<void*>(&value), p, sizeof(T));
        }
    }
    note_look(operation, p, first_word(value));
    return value;
}

template <typename T>
inline void store_gm(const char* operation, GmPath path, T* p, T value) {
    enter_gm(operation, p, sizeof(T));
    if (store_modelled(path, p, &value, sizeof(T))) return;
    touch_gm(p, sizeof(T), true);
    if constexpr (sizeof(T) <= 8) {
        GmWord<sizeof(T)> word;
        std::memcpy(&word, &value, sizeof(T));
        __atomic_store_n(reinterpret_cast<GmWord<sizeof(T)>*>(p), word, __ATOMIC_RELEASE);
    } else {
        std::memcpy(p, &value, sizeof(T));
    }
}

}  // namespace ascend_deepep::twin
