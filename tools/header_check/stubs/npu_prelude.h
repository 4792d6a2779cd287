// SPDX-License-Identifier: Apache-2.0
//
// What the device compiler predefines: execution spaces, address spaces, scalar and short vector types, SIMT built-ins.
// Layer: build. Own stand-ins; the names were found by asking clang what is undeclared.
#pragma once
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

// ---------------------------------------------------------------- execution-space keywords
#ifdef ASCCHK_EXEC
// Borrow clang's CUDA call-graph rules: kernel side = host, SIMT side = device, VF entry = global function.
#define ASCCHK_ANY __attribute__((host)) __attribute__((device))
#define __simt_vf__ __attribute__((global))
#define __simt_callee__ __attribute__((device))
#define __callee__ ASCCHK_ANY
#define ASCCHK_SIMTVAR __attribute__((device))
#define __device__ __attribute__((device))
#else
#define ASCCHK_ANY
#define __simt_vf__
#define __simt_callee__
#define __callee__
#define ASCCHK_SIMTVAR
#endif
#define __aicore__
#define __host__
#define __host_aicore__
#define __global__
#define __vector__
#define __cube__
#define __mix__(...)
#define __simd_vf__
#define __simd_callee__
#define __simt_launch_bounds__(n)
#define __launch_bounds__(n)
#define LAUNCH_BOUND(n)
#define __maxnreg__(n)
#define __schedmode__(n)
#define __sync_noalias__
#define __sync_alias__
#define __inout_pipe__(...)
#define __check_sync_alias__
#define __in__
#define __out__
#define __WORKGROUP__
#define __BLOCK_LOCAL__
#define __no_simd_vf_fusion__
#define __align__(n) alignas(n)

// ---------------------------------------------------------------- address spaces
#ifndef ASCCHK_FLAT
#define __gm__ __attribute__((address_space(1)))
#define __cbuf__ __attribute__((address_space(2)))
#define __ca__ __attribute__((address_space(3)))
#define __cb__ __attribute__((address_space(4)))
#define __cc__ __attribute__((address_space(5)))
#define __ubuf__ __attribute__((address_space(6)))
#define __fbuf__ __attribute__((address_space(7)))
#define __biasbuf__ __attribute__((address_space(8)))
#define __ssbuf__ __attribute__((address_space(9)))
#else
#define __gm__
#define __cbuf__
#define __ca__
#define __cb__
#define __cc__
#define __ubuf__
#define __fbuf__
#define __biasbuf__
#define __ssbuf__
#endif

// ---------------------------------------------------------------- scalar types
using half = _Float16;
using bfloat16_t = __bf16;
#define ASCCHK_OPAQUE(name, bytes) \
    struct name {                  \
        uint8_t raw[bytes];        \
    }
ASCCHK_OPAQUE(float8_e4m3_t, 1);
ASCCHK_OPAQUE(float8_e5m2_t, 1);
ASCCHK_OPAQUE(float8_e8m0_t, 1);
ASCCHK_OPAQUE(hifloat8_t, 1);
ASCCHK_OPAQUE(float4_e2m1x2_t, 1);
ASCCHK_OPAQUE(float4_e1m2x2_t, 1);
ASCCHK_OPAQUE(hifloat4x2_t, 1);
ASCCHK_OPAQUE(float8_e4m3x2_t, 2);
ASCCHK_OPAQUE(float8_e5m2x2_t, 2);
ASCCHK_OPAQUE(hifloat8x2_t, 2);
ASCCHK_OPAQUE(int4x2_t, 1);

// ---------------------------------------------------------------- short vectors
// The device compiler treats these as vector types (.x/.y/.z/.w and [] both work).
#define ASCCHK_EXT(T, N, n) typedef T N##n __attribute__((ext_vector_type(n)))
#define ASCCHK_VEC(T, N) \
    ASCCHK_EXT(T, N, 1); \
    ASCCHK_EXT(T, N, 2); \
    ASCCHK_EXT(T, N, 3); \
    ASCCHK_EXT(T, N, 4)
ASCCHK_VEC(signed char, char);
ASCCHK_VEC(unsigned char, uchar);
ASCCHK_VEC(short, short);
ASCCHK_VEC(unsigned short, ushort);
ASCCHK_VEC(int, int);
ASCCHK_VEC(unsigned int, uint);
ASCCHK_VEC(long, long);
ASCCHK_VEC(unsigned long, ulong);
ASCCHK_VEC(long long, longlong);
ASCCHK_VEC(unsigned long long, ulonglong);
ASCCHK_VEC(float, float);
ASCCHK_EXT(half, half, 2);
typedef bfloat16_t bfloat16x2_t __attribute__((ext_vector_type(2)));

// ---------------------------------------------------------------- SIMT built-ins
#ifdef ASCCHK_EXEC
typedef void* asc_chk_stream;
extern "C" unsigned int __cudaPushCallConfiguration(...);
extern "C" unsigned int cudaConfigureCall(...);
#endif
namespace cce {
struct dim3 {
    unsigned int x, y, z;
    constexpr dim3(unsigned int x_ = 1, unsigned int y_ = 1, unsigned int z_ = 1) : x(x_), y(y_), z(z_) {}
};
// The launch is checked for callability with the given arguments.
#ifdef ASCCHK_EXEC
template <auto F, typename... A>
inline void async_invoke(dim3, A&&... a) {
    F<<<1, 1>>>(static_cast<A&&>(a)...);
}  // accepts __simt_vf__ functions only
#else
template <auto F, typename... A>
inline void async_invoke(dim3, A&&... a) {
    F(static_cast<A&&>(a)...);
}
#endif
}  // namespace cce
using cce::dim3;
#ifdef ASCCHK_EXEC
// readable from SIMT code only
struct asc_simt_idx {
    __declspec(property(get = gx)) unsigned int x;
    __declspec(property(get = gy)) unsigned int y;
    __declspec(property(get = gz)) unsigned int z;
    __attribute__((device)) unsigned int gx() const;
    __attribute__((device)) unsigned int gy() const;
    __attribute__((device)) unsigned int gz() const;
};
extern __attribute__((device)) const asc_simt_idx gridDim, blockDim, blockIdx, threadIdx;
#else
extern const dim3 gridDim, blockDim, blockIdx, threadIdx;
#endif
constexpr int32_t warpSize = 32;
extern const int64_t block_idx, block_num;

#include "npu_enums.h"
#include "npu_intrinsics.h"
#ifdef ASCCHK_EXEC
template <class T>
__attribute__((device)) inline T abs(T);
#endif
namespace bisheng {
namespace cce {
void metrics_prof_start();
void metrics_prof_stop();
template <pipe_t p, class... A>
void mark_stamp(A...);
template <pipe_t p, auto v>
void mark_stamp();
}  // namespace cce
}  // namespace bisheng
namespace __cce_scalar {
template <class... A>
void copy_ubuf_to_ubuf(A...);
}
