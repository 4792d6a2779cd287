// SPDX-License-Identifier: Apache-2.0
//
// Seeded errors, one per CASE (tools/header_check/selftest.py says what each must be refused for); 0 is the good one,
// 11 and 17 are the known blind spots. Layer: build, never compiled into anything.
#include "kernel_operator.h"
using namespace AscendC;
__simt_vf__ inline void vf(__gm__ int32_t* g, __ubuf__ int32_t* u, uint32_t n) {
    if (threadIdx.x < n) u[threadIdx.x] = g[threadIdx.x];
}
__simt_callee__ inline int32_t helper(__gm__ int32_t* g) {
    return *g;
}
#if CASE == 1  // UB pointer where GM expected
__aicore__ inline void kernel(__ubuf__ int32_t* u, __gm__ int32_t* g) {
    asc_vf_call<vf>(dim3(32), u, u, 3u);
}
#elif CASE == 2   // wrong number of VF args
__aicore__ inline void kernel(__ubuf__ int32_t* u, __gm__ int32_t* g) {
    asc_vf_call<vf>(dim3(32), g, u);
}
#elif CASE == 3   // element type mismatch in DataCopy
__aicore__ inline void kernel(LocalTensor<half> l, GlobalTensor<float> g) {
    DataCopy(l, g, 64);
}
#elif CASE == 4   // int64 atomic on UB does not exist
__simt_vf__ inline void vf2(__ubuf__ int64_t* u) {
    asc_atomic_add(u, (int64_t)1);
}
__aicore__ inline void kernel(__ubuf__ int64_t* u) {
    asc_vf_call<vf2>(dim3(32), u);
}
#elif CASE == 5   // shuffle of an unsupported type
struct S {
    int a, b;
};
__simt_vf__ inline void vf2(__gm__ S* u) {
    S s{1, 2};
    auto t = asc_shfl(s, 0);
    u->a = t.a;
}
__aicore__ inline void kernel(__gm__ S* u) {
    asc_vf_call<vf2>(dim3(32), u);
}
#elif CASE == 6   // address of a kernel local given to a VF
__simt_vf__ inline void vf2(__gm__ int* u) {
    *u = 1;
}
__aicore__ inline void kernel() {
    int x;
    asc_vf_call<vf2>(dim3(32), &x);
}
#elif CASE == 7   // misspelt params member
__aicore__ inline void kernel(LocalTensor<half> l, GlobalTensor<half> g) {
    DataCopyExtParams p;
    p.blockLength = 3;
    DataCopyPad(g, l, p);
}
#elif CASE == 8   // HardEvent typo
__aicore__ inline void kernel() {
    SetFlag<HardEvent::MTE2_VEC>(EVENT_ID0);
}
#elif CASE == 9   // ldcg from UB
__simt_vf__ inline void vf2(__ubuf__ int* u) {
    *u = asc_ldcg(u);
}
__aicore__ inline void kernel(__ubuf__ int* u) {
    asc_vf_call<vf2>(dim3(32), u);
}
#elif CASE == 10  // reinterpret GM pointer to plain pointer
__aicore__ inline void kernel(__gm__ int* g) {
    int* p = g;
    *p = 0;
}
#elif CASE == 11  // unsupported Cast pair (static check inside the real header)
__aicore__ inline void kernel(LocalTensor<bfloat16_t> d, LocalTensor<int8_t> s) {
    Cast(d, s, RoundMode::CAST_RINT, 64);
}
#elif CASE == 12  // SIMD API called from a VF (execution space)
__simt_vf__ inline void vf2(__ubuf__ int* u) {
    PipeBarrier<PIPE_ALL>();
    *u = 1;
}
__aicore__ inline void kernel(__ubuf__ int* u) {
    asc_vf_call<vf2>(dim3(32), u);
}
#elif CASE == 13  // VF helper called from the kernel
__aicore__ inline void kernel(__gm__ int* g) {
    *g = helper(g);
}
#elif CASE == 14  // VF called directly, without asc_vf_call
__aicore__ inline void kernel(__ubuf__ int32_t* u, __gm__ int32_t* g) {
    vf(g, u, 3u);
}
#elif CASE == 15  // VF that returns a value
__simt_vf__ inline int vf2(__ubuf__ int* u) {
    return *u;
}
__aicore__ inline void kernel(__ubuf__ int* u) {
    asc_vf_call<vf2>(dim3(32), u);
}
#elif CASE == 16  // threadIdx outside a VF
__aicore__ inline void kernel(__gm__ int* g) {
    *g = threadIdx.x;
}
#elif CASE == 17  // a non-VF as VF target
__aicore__ inline void not_vf(__gm__ int* g) {
    *g = 1;
}
__aicore__ inline void kernel(__gm__ int* g) {
    asc_vf_call<not_vf>(dim3(32), g);
}
#elif CASE == 18  // plain host libc call in a VF
__simt_vf__ inline void vf2(__ubuf__ int* u) {
    *u = rand();
}
__aicore__ inline void kernel(__ubuf__ int* u) {
    asc_vf_call<vf2>(dim3(32), u);
}
#elif CASE == 19  // aicore helper called from a callee called from a VF
__aicore__ inline int aux() {
    return 1;
}
__simt_callee__ inline int callee() {
    return aux();
}
__simt_vf__ inline void vf2(__ubuf__ int* u) {
    *u = callee();
}
__aicore__ inline void kernel(__ubuf__ int* u) {
    asc_vf_call<vf2>(dim3(32), u);
}
#elif CASE == 20  // reinterpret_cast that changes the address space
__aicore__ inline void kernel(__gm__ int32_t* g) {
    auto u = reinterpret_cast<__ubuf__ int32_t*>(g);
    *u = 1;
}
#elif CASE == 21  // struct copied out of GM without a hand-written copy constructor
struct P {
    int a;
    float b;
};
__simt_vf__ inline void vf2(__gm__ P* p, __ubuf__ int* o) {
    P t = p[0];
    o[0] = t.a;
}
__aicore__ inline void kernel(__gm__ P* p, __ubuf__ int* o) {
    asc_vf_call<vf2>(dim3(32), p, o);
}
#elif CASE == 22  // whole struct stored to GM
struct P {
    int a;
    float b;
};
__simt_vf__ inline void vf2(__gm__ P* p) {
    P t;
    t.a = 1;
    t.b = 0;
    p[0] = t;
}
__aicore__ inline void kernel(__gm__ P* p) {
    asc_vf_call<vf2>(dim3(32), p);
}
#else
__aicore__ inline void kernel(__ubuf__ int32_t* u, __gm__ int32_t* g) {
    asc_vf_call<vf>(dim3(32), g, u, 3u);
}
#endif
__global__ __vector__ void entry(GM_ADDR a) {
#if CASE == 0 || CASE == 1 || CASE == 2 || CASE == 14
    kernel((__ubuf__ int32_t*)(uint64_t)0, (__gm__ int32_t*)a);
#endif
#if CASE == 16
    kernel((__gm__ int*)a);
#endif
}
