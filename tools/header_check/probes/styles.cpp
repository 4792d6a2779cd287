// SPDX-License-Identifier: Apache-2.0
//
// Probe: the C++ SIMT style, the 16-bit and 8-bit type headers, scalar device access and SIMD reductions.
// Layer: build, never compiled into anything; the self-test expects it clean.
#include "adv_api/reduce/sum.h"
#include "kernel_operator.h"
#include "simt_api/asc_bf16.h"
#include "simt_api/asc_fp16.h"
#include "simt_api/asc_fp8.h"
#include "simt_api/asc_simt.h"
using namespace AscendC;

__simt_vf__ __aicore__ LAUNCH_BOUND(256) inline void rank_vf(__gm__ const int32_t* dst, __ubuf__ uint32_t* cnt,
                                                             __gm__ bfloat16_t* w, __gm__ half* h,
                                                             __gm__ volatile uint64_t* st, uint32_t n) {
    const uint32_t tid = Simt::GetThreadIdx<0>();
    for (uint32_t i = tid; i < n; i += Simt::GetThreadNum<0>()) {
        uint32_t v = static_cast<uint32_t>(dst[i]);
        uint32_t s = Simt::WarpReduceAddSync(v);
        v = Simt::WarpShflUpSync(v, 1);
        if (Simt::WarpBallotSync(v != s ? 1 : 0) != 0) Simt::AtomicAdd(cnt + v, 1u);
        float f = __bfloat162float(w[i]) + __half2float(h[i]);
        w[i] = __float2bfloat16(f * 0.5f);
        uint32_t m = asc_reduce_max(v);
        if (laneid() == 0 && asc_any(m > 3)) cnt[0] = m;
    }
    Simt::ThreadBarrier();
    if (tid == 0) {
        Simt::ThreadFence();
        *st = 1;
        while (*st == 0)
            asc_nop();
    }
}

__global__ __vector__ void styles(GM_ADDR a, GM_ADDR b, GM_ADDR c, GM_ADDR d, GM_ADDR e, uint32_t n) {
    TPipe pipe;
    TBuf<> buf, sumBuf, tmpBuf;
    pipe.InitBuffer(buf, 4096);
    pipe.InitBuffer(sumBuf, 32);
    pipe.InitBuffer(tmpBuf, 4096);
    LocalTensor<uint32_t> cnt = buf.Get<uint32_t>();
    Duplicate<uint32_t>(cnt, 0u, 1024);
    Simt::VF_CALL<rank_vf>(Simt::Dim3{256, 1, 1}, (__gm__ int32_t*)a, (__ubuf__ uint32_t*)cnt.GetPhyAddr(),
                           (__gm__ bfloat16_t*)b, (__gm__ half*)c, (__gm__ volatile uint64_t*)d, n);
    LocalTensor<float> x = cnt.ReinterpretCast<float>();
    LocalTensor<float> s = sumBuf.Get<float>();
    LocalTensor<uint8_t> t = tmpBuf.Get<uint8_t>();
    SumParams sp{1, 64, 64};
    Sum(s, x, t, sp);
    PipeBarrier<PIPE_V>();
    int32_t ev = static_cast<int32_t>(pipe.FetchEventID(HardEvent::V_S));
    SetFlag<HardEvent::V_S>(ev);
    WaitFlag<HardEvent::V_S>(ev);
    float total = s.GetValue(0);
    GlobalTensor<int32_t> g;
    g.SetGlobalBuffer((__gm__ int32_t*)e, 8);
    g.SetValue(0, static_cast<int32_t>(total));
    DataCacheCleanAndInvalid<int32_t, CacheLine::SINGLE_CACHE_LINE, DcciDst::CACHELINE_OUT>(g);
    int64_t cyc = GetSystemCycle();
    if (cyc > 0 && ScalarGetSFFValue<1>(static_cast<uint64_t>(cyc)) > 3) SyncAll();
    if (GetBlockNum() > 1 && GetBlockIdx() == 0) CrossCoreSetFlag<0x0, PIPE_MTE3>(0);
}
