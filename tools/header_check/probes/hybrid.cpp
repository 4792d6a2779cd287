// SPDX-License-Identifier: Apache-2.0
//
// Probe: counts choices with SIMT functions, then ships a row with the SIMD API, as a kernel of ours does.
// Layer: build, never compiled into anything; the self-test expects it clean.
#include "kernel_operator.h"
#include "simt_api/asc_simt.h"
#include "simt_api/device_atomic_functions.h"
#include "simt_api/device_sync_functions.h"
#include "simt_api/device_warp_functions.h"

constexpr uint32_t kThreads = 512;
constexpr uint32_t kRow = 1024;

__simt_callee__ inline uint32_t lane_slot(uint32_t mask, uint32_t lane) {
    return static_cast<uint32_t>(__popc(mask & ((1u << lane) - 1u)));
}

__simt_vf__ __launch_bounds__(kThreads) inline void count_vf(__gm__ const int32_t* topk, __ubuf__ int32_t* hist,
                                                             __gm__ int32_t* flag, uint32_t n, uint32_t experts) {
    for (uint32_t e = threadIdx.x; e < experts; e += blockDim.x) {
        hist[e] = 0;
    }
    asc_syncthreads();
    for (uint32_t i = threadIdx.x; i < n; i += blockDim.x) {
        int32_t e = topk[i];
        uint32_t ball = asc_ballot(e >= 0 ? 1 : 0);
        uint32_t slot = lane_slot(ball, threadIdx.x % 32);
        int32_t first = asc_shfl(e, 0);
        if (e >= 0) {
            asc_atomic_add(hist + e, static_cast<int32_t>(1 + 0 * slot + 0 * first));
        }
    }
    asc_syncthreads();
    if (threadIdx.x == 0) {
        asc_threadfence();
        asc_atomic_exch(flag, 1);
        asc_stwt(flag + 1, asc_ldcg(flag) + 1);
    }
}

template <typename T>
class Ship {
  public:
    __aicore__ inline void Init(GM_ADDR src, GM_ADDR dst, GM_ADDR topk, GM_ADDR flag, uint32_t n,
                                AscendC::TPipe* pipe) {
        src_.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(src) + AscendC::GetBlockIdx() * kRow, kRow);
        dst_.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(dst) + AscendC::GetBlockIdx() * kRow, kRow);
        topk_ = reinterpret_cast<__gm__ int32_t*>(topk);
        flag_ = reinterpret_cast<__gm__ int32_t*>(flag);
        n_ = n;
        pipe->InitBuffer(que_, 2, kRow * sizeof(T));
        pipe->InitBuffer(hist_, 256 * sizeof(int32_t));
        pipe->InitBuffer(f32_, kRow * sizeof(float));
    }
    __aicore__ inline void Process() {
        AscendC::LocalTensor<int32_t> h = hist_.Get<int32_t>();
        asc_vf_call<count_vf>(dim3(kThreads), topk_, (__ubuf__ int32_t*)h.GetPhyAddr(), flag_, n_, 256u);
        AscendC::LocalTensor<T> x = que_.template AllocTensor<T>();
        AscendC::DataCopyExtParams cp{1, static_cast<uint32_t>(kRow * sizeof(T)), 0, 0, 0};
        AscendC::DataCopyPadExtParams<T> pad{false, 0, 0, 0};
        AscendC::DataCopyPad(x, src_, cp, pad);
        que_.EnQue(x);
        x = que_.template DeQue<T>();
        AscendC::LocalTensor<float> f = f32_.Get<float>();
        AscendC::Cast(f, x, AscendC::RoundMode::CAST_NONE, kRow);
        AscendC::Muls(f, f, 2.0f, kRow);
        AscendC::Cast(x, f, AscendC::RoundMode::CAST_RINT, kRow);
        event_t ev = static_cast<event_t>(GetTPipePtr()->FetchEventID(AscendC::HardEvent::V_MTE3));
        AscendC::SetFlag<AscendC::HardEvent::V_MTE3>(ev);
        AscendC::WaitFlag<AscendC::HardEvent::V_MTE3>(ev);
        AscendC::DataCopyPad(dst_, x, cp);
        que_.FreeTensor(x);
        AscendC::PipeBarrier<PIPE_ALL>();
        AscendC::DataCacheCleanAndInvalid<T, AscendC::CacheLine::SINGLE_CACHE_LINE, AscendC::DcciDst::CACHELINE_OUT>(
            dst_);
    }

  private:
    AscendC::GlobalTensor<T> src_, dst_;
    __gm__ int32_t* topk_;
    __gm__ int32_t* flag_;
    uint32_t n_;
    AscendC::TQueBind<AscendC::TPosition::VECIN, AscendC::TPosition::VECOUT, 2> que_;
    AscendC::TBuf<AscendC::TPosition::VECCALC> hist_, f32_;
};

__global__ __vector__ void probe_kernel(GM_ADDR src, GM_ADDR dst, GM_ADDR topk, GM_ADDR flag, uint32_t n) {
    AscendC::TPipe pipe;
    Ship<bfloat16_t> op;
    op.Init(src, dst, topk, flag, n, &pipe);
    op.Process();
}
