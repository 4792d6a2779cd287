// SPDX-License-Identifier: Apache-2.0
// Loads and stores of GM with a cache hint, lane numbers, bit functions, conversions between words and floats.
// Layer: twin/include, the real header's name. Words of up to 8 B are acquire loads and release stores here.
#pragma once

#include <cmath>

#include "simt_api/device_atomic_functions.h"
#include "simt_api/device_sync_functions.h"
#include "simt_api/device_warp_functions.h"
#include "twin_detail/gm_access.h"
#include "twin_detail/short_vectors.h"

template <typename T>
__simt_callee__ inline T asc_ldcg(T* address) {
    static_assert(ascend_deepep::twin::kIsGmType<T>, ASCEND_DEEPEP_HINT_TYPES);
    return ascend_deepep::twin::load_gm("asc_ldcg", ascend_deepep::twin::GmPath::kSimtPast, address);
}
template <typename T>
__simt_callee__ inline T asc_ldca(T* address) {
    static_assert(ascend_deepep::twin::kIsGmType<T>, ASCEND_DEEPEP_HINT_TYPES);
    return ascend_deepep::twin::load_gm("asc_ldca", ascend_deepep::twin::GmPath::kSimtCached, address);
}
template <typename T>
__simt_callee__ inline void asc_stcg(T* address, ascend_deepep::twin::SameT<T> val) {
    static_assert(ascend_deepep::twin::kIsGmType<T>, ASCEND_DEEPEP_HINT_TYPES);
    ascend_deepep::twin::store_gm<T>("asc_stcg", ascend_deepep::twin::GmPath::kSimtPast, address, val);
}
template <typename T>
__simt_callee__ inline void asc_stwt(T* address, ascend_deepep::twin::SameT<T> val) {
    static_assert(ascend_deepep::twin::kIsGmType<T>, ASCEND_DEEPEP_HINT_TYPES);
    ascend_deepep::twin::store_gm<T>("asc_stwt", ascend_deepep::twin::GmPath::kSimtCached, address, val);
}

// Only the simulator keeps lines that grow stale.
__simt_callee__ inline void asc_dcci_single(__gm__ void* address) {
    ascend_deepep::twin::clean_modelled(ascend_deepep::twin::GmUnit::kSimt, address);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
__simt_callee__ inline void asc_dcci_entire(__gm__ void*) {
    ascend_deepep::twin::clean_modelled(ascend_deepep::twin::GmUnit::kSimt, nullptr);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

__simt_callee__ inline int32_t laneid() {
    return static_cast<int32_t>(ascend_deepep::twin::current_simt("laneid").thread() % ascend_deepep::twin::kWarpLanes);
}
__simt_callee__ inline int32_t lanemask_eq() {
    return static_cast<int32_t>(1u << laneid());
}
__simt_callee__ inline int32_t lanemask_lt() {
    return static_cast<int32_t>((1u << laneid()) - 1u);
}
__simt_callee__ inline int32_t lanemask_le() {
    return lanemask_lt() | lanemask_eq();
}
__simt_callee__ inline int32_t lanemask_gt() {
    return ~lanemask_le();
}
__simt_callee__ inline int32_t lanemask_ge() {
    return ~lanemask_lt();
}

__simt_callee__ inline int __popc(unsigned int x) {
    return __builtin_popcount(x);
}
__simt_callee__ inline int __popc(unsigned long x) {
    return __builtin_popcountl(x);
}
__simt_callee__ inline int __popc(unsigned long long x) {
    return __builtin_popcountll(x);
}
__simt_callee__ inline int __clz(int x) {
    return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x));
}
__simt_callee__ inline int __clz(long x) {
    return x == 0 ? 64 : __builtin_clzl(static_cast<unsigned long>(x));
}
__simt_callee__ inline int __clz(long long x) {
    return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x));
}
__simt_callee__ inline int __ffs(int x) {
    return __builtin_ffs(x);
}
__simt_callee__ inline int __ffs(long x) {
    return __builtin_ffsl(x);
}
__simt_callee__ inline int __ffs(long long x) {
    return __builtin_ffsll(x);
}
__simt_callee__ inline unsigned int __umulhi(unsigned int x, unsigned int y) {
    return static_cast<unsigned int>(static_cast<uint64_t>(x) * y >> 32);
}
__simt_callee__ inline int __mulhi(int x, int y) {
    return static_cast<int>(static_cast<int64_t>(x) * y >> 32);
}

__simt_callee__ inline float __int_as_float(const int x) {
    return ascend_deepep::twin::bits_float(static_cast<uint32_t>(x));
}
__simt_callee__ inline float __uint_as_float(const unsigned int x) {
    return ascend_deepep::twin::bits_float(x);
}
__simt_callee__ inline int __float_as_int(const float x) {
    return static_cast<int>(ascend_deepep::twin::float_bits(x));
}
__simt_callee__ inline unsigned int __float_as_uint(const float x) {
    return ascend_deepep::twin::float_bits(x);
}
__simt_callee__ inline float __int2float_rn(const int x) {
    return static_cast<float>(x);
}
__simt_callee__ inline float __uint2float_rn(const unsigned int x) {
    return static_cast<float>(x);
}
