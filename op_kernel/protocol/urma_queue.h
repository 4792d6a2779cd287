// SPDX-License-Identifier: Apache-2.0
//
// URMA queues from a kernel: WQEs composed by SIMT threads, moved into a ring, rung by a scalar core, and completions
// counted. Layer: protocol. docs/protocol.md, P3 to P5 and I6. One core writes a ring, one core serves it.
#ifndef ASCEND_DEEPEP_PROTOCOL_URMA_QUEUE_H
#define ASCEND_DEEPEP_PROTOCOL_URMA_QUEUE_H

#include "contract/arch35/cqe.h"
#include "contract/arch35/wqe.h"
#include "protocol/wait.h"
#include "simt_api/asc_simt.h"

namespace ascend_deepep::kernel {

constexpr uint32_t kWqeBatch = 64;  // WQEs composed at a time

__aicore__ inline __gm__ QueueContext* queue_context(const CoreContext& ctx, uint32_t peer) {
    return (__gm__ QueueContext*)((GM_ADDR)ctx.tiling->queue_table + peer * kQueueContextStride);
}

// The j-th peer that owner `index` of `count` serves, in visiting order: the next rank first, own rank never.
__aicore__ inline uint32_t owned_peers(uint32_t num_ranks, uint32_t index, uint32_t count) {
    const uint32_t others = num_ranks - 1;
    return others > index ? (others - index - 1) / count + 1 : 0;
}
__aicore__ inline uint32_t owned_peer(const CoreContext& ctx, uint32_t index, uint32_t count, uint32_t j) {
    return (ctx.tiling->rank + 1 + index + j * count) % ctx.tiling->num_ranks;
}

// WQE i writes `bytes` from local_base + local_slot[i] * local_stride to remote_base + (remote_first + i) *
// remote_stride. Fields that the queue fixes are read from its context, word by word.
__simt_vf__ __launch_bounds__(kWqeBatch) inline void compose_wqes(__ubuf__ uint32_t* wqes,
                                                                  __ubuf__ uint32_t* local_slot,
                                                                  __gm__ uint32_t* context, uint64_t local_base,
                                                                  uint64_t remote_base, uint32_t stride, uint32_t bytes,
                                                                  uint32_t remote_first, uint32_t producer,
                                                                  uint32_t num_wqes) {
    constexpr uint32_t kWord = sizeof(uint32_t);
    const uint32_t depth = asc_ldcg(context + __builtin_offsetof(QueueContext, sq_depth) / kWord);
    const uint32_t tpn = asc_ldcg(context + __builtin_offsetof(QueueContext, tpn) / kWord);
    const uint32_t segment = asc_ldcg(context + __builtin_offsetof(QueueContext, remote_segment) / kWord);
    const uint32_t key = asc_ldcg(context + __builtin_offsetof(QueueContext, remote_token) / kWord);
    const uint32_t key_enable = asc_ldcg(context + __builtin_offsetof(QueueContext, token_enable) / kWord);
    const uint32_t jetty = asc_ldcg(context + __builtin_offsetof(QueueContext, jetty_type) / kWord);
    const uint32_t hint = asc_ldcg(context + __builtin_offsetof(QueueContext, target_hint) / kWord);
    const uint32_t local_key = asc_ldcg(context + __builtin_offsetof(QueueContext, local_token) / kWord);
    for (uint32_t i = threadIdx.x; i < num_wqes; i += blockDim.x) {
        __ubuf__ uint32_t* wqe = wqes + i * kWqeWords;
        const uint64_t local = local_base + uint64_t(local_slot[i]) * stride;
        const uint64_t remote = remote_base + uint64_t(remote_first + i) * stride;
        wqe[0] = wqe_control_word(wqe_owner(producer + i, depth), jetty, key_enable);
        wqe[1] = wqe_opcode_word(WqeOpcode::kWrite, hint);
        wqe[2] = wqe_transport_word(tpn);
        wqe[3] = wqe_segment_word(segment);
        for (uint32_t word = 0; word < 4; ++word) {
            wqe[4 + word] = asc_ldcg(context + __builtin_offsetof(QueueContext, remote_eid) / kWord + word);
        }
        wqe[8] = key;
        wqe[9] = 0;
        wqe[10] = static_cast<uint32_t>(remote);
        wqe[11] = static_cast<uint32_t>(remote >> 32);
        wqe[12] = bytes;
        wqe[13] = local_key;
        wqe[14] = static_cast<uint32_t>(local);
        wqe[15] = static_cast<uint32_t>(local >> 32);
    }
}

// Where a batch of WQEs comes from and goes to.
struct WqeBatch {
    uint32_t peer;
    uint64_t local_base;
    uint64_t remote_offset;  // in the peer's window
    uint32_t stride;         // between slots, on both sides
    uint32_t bytes;
    uint32_t remote_first;
    uint32_t built;  // WQEs of this operation already in the ring
    uint32_t count;  // <= kWqeBatch
};

// Composes batches in UB and moves them into rings.
class WqeWriter {
  public:
    __aicore__ inline void begin(CoreContext& ctx) {
        ctx.pipe->InitBuffer(slots_, kWqeBatch * sizeof(uint32_t));
        ctx.pipe->InitBuffer(wqes_, kWqeBatch * kWqeBytes);
    }

    // Indices of the local slots of the batch: filled by the caller, by MTE2 or by scalar stores.
    __aicore__ inline AscendC::LocalTensor<uint32_t> slots() { return slots_.Get<uint32_t>(); }

    // The caller has ordered its filling of slots() before V. On return the WQEs are published.
    __aicore__ inline void write(CoreContext& ctx, const WqeBatch& batch) {
        __gm__ QueueContext* queue = queue_context(ctx, batch.peer);
        const uint32_t depth = load(&queue->sq_depth);
        const uint32_t producer = load(&queue->posted) + batch.built;
        AscendC::LocalTensor<uint32_t> wqes = wqes_.Get<uint32_t>();
        asc_vf_call<compose_wqes>(dim3(kWqeBatch), ub_pointer(wqes), ub_pointer(slots()), (__gm__ uint32_t*)queue,
                                  batch.local_base, load(&queue->remote_base) + batch.remote_offset, batch.stride,
                                  batch.bytes, batch.remote_first, producer, batch.count);
        sync<AscendC::HardEvent::V_MTE3>();
        const uint32_t at = producer & (depth - 1);
        const uint32_t until_wrap = depth - at;
        const uint32_t first = batch.count < until_wrap ? batch.count : until_wrap;
        GM_ADDR ring = (GM_ADDR)load(&queue->sq_base);
        AscendC::DataCopy(gm_tensor<uint32_t>(ring + uint64_t(at) * kWqeBytes), wqes, first * kWqeWords);
        if (first < batch.count) {
            AscendC::DataCopy(gm_tensor<uint32_t>(ring), wqes[first * kWqeWords], (batch.count - first) * kWqeWords);
        }
        sync<AscendC::HardEvent::MTE3_V>();
        sync<AscendC::HardEvent::MTE3_S>();
        publish(ctx, &ctx.page->built[batch.peer], batch.built + batch.count);  // ORDER P3: ring, then flag
    }

  private:
    AscendC::TBuf<AscendC::TPosition::VECCALC> slots_;
    AscendC::TBuf<AscendC::TPosition::VECCALC> wqes_;
};

// WQEs of this operation that a queue has completed; 0 until the serving core has said something.
__aicore__ inline uint32_t completed_wqes(const CoreContext& ctx, uint32_t peer) {
    uint32_t value = 0;
    poll(ctx, &ctx.page->completed[peer], value);
    return value;
}

// WQEs that fit the ring of `peer` when `built` are in it: ORDER P5, slots of completed WQEs only (A3).
__aicore__ inline uint32_t free_wqes(const CoreContext& ctx, uint32_t peer, uint32_t built) {
    return load(&queue_context(ctx, peer)->sq_depth) - (built - completed_wqes(ctx, peer));
}

// One queue as its serving core sees it.
struct ServedQueue {
    uint32_t peer;
    uint32_t expected;  // WQEs of this operation
    uint32_t rung;
    uint32_t completed;
};

// Counts arrived CQEs. False: a bad one, the operation has failed.
__aicore__ inline bool drain_completions(CoreContext& ctx, ServedQueue& served) {
    __gm__ QueueContext* queue = queue_context(ctx, served.peer);
    const uint32_t depth = load(&queue->cq_depth);
    const uint32_t consumed = load(&queue->consumed);
    GM_ADDR ring = (GM_ADDR)load(&queue->cq_base);
    const uint32_t before = served.completed;
    while (served.completed < served.rung) {
        const uint32_t at = consumed + served.completed;
        const uint32_t word = load((__gm__ uint32_t*)(ring + uint64_t(at & (depth - 1)) * kCqeBytes));
        if (!cqe_is_valid(word, at, depth)) break;
        if (cqe_status(word) != 0) {
            const int64_t status = static_cast<int64_t>((cqe_status(word) << 8) | cqe_substatus(word));
            fail(ctx, Failure{Code::kBadCompletion, Stage::kDoorbell, served.peer, served.peer, 0, word, status, 0});
            return false;
        }
        ++served.completed;
    }
    if (served.completed != before) {
        const uint32_t index = (consumed + served.completed) & kCqDoorbellMask;
        store((__gm__ uint32_t*)load(&queue->cq_doorbell), index);
        publish(ctx, &ctx.page->completed[served.peer], served.completed);
    }
    return true;
}

// Rings for WQEs up to `ready` of this operation, when that is news.
__aicore__ inline void ring_doorbell(CoreContext& ctx, ServedQueue& served, uint32_t ready) {
    if (ready == served.rung) return;
    __gm__ QueueContext* queue = queue_context(ctx, served.peer);
    served.rung = ready;
    store((__gm__ uint32_t*)load(&queue->sq_doorbell), load(&queue->posted) + ready);
}

// WQEs of this operation that the builder has put in the ring.
__aicore__ inline uint32_t built_wqes(const CoreContext& ctx, uint32_t peer) {
    uint32_t value = 0;
    poll(ctx, &ctx.page->built[peer], value);
    return value;
}

// All WQEs of the operation completed: the next one starts behind them.
__aicore__ inline void retire(CoreContext& ctx, const ServedQueue& served) {
    __gm__ QueueContext* queue = queue_context(ctx, served.peer);
    store(&queue->posted, load(&queue->posted) + served.expected);
    store(&queue->consumed, load(&queue->consumed) + served.expected);
}

// Serves the queues that owner `index` of `count` owns until all their WQEs have completed. `Gate` says how many WQEs a
// queue will get (`expected(peer)`) and how many of the built ones may be rung (`ready(peer, slot, built)`).
template <typename Gate>
__aicore__ inline bool serve_queues(CoreContext& ctx, uint32_t index, uint32_t count, Gate& gate) {
    const uint32_t num_queues = owned_peers(ctx.tiling->num_ranks, index, count);
    AscendC::TBuf<AscendC::TPosition::VECCALC> buffer;
    constexpr uint32_t kWords = sizeof(ServedQueue) / sizeof(uint32_t);
    ctx.pipe->InitBuffer(buffer, static_cast<uint32_t>(align_up((num_queues + 1) * sizeof(ServedQueue), kUnitBytes)));
    AscendC::LocalTensor<uint32_t> state = buffer.Get<uint32_t>();
    uint32_t open = 0;
    for (uint32_t j = 0; j < num_queues; ++j) {
        const uint32_t peer = owned_peer(ctx, index, count, j);
        const uint32_t expected = gate.expected(peer);
        state.SetValue(j * kWords, expected);
        state.SetValue(j * kWords + 1, 0U);
        state.SetValue(j * kWords + 2, 0U);
        open += expected != 0 ? 1 : 0;
    }
    Wait wait(ctx, Stage::kDoorbell, ctx.tiling->rank, 0);
    while (open != 0) {
        uint32_t waiting_for = kMaxRanks;
        bool has_moved = false;
        gate.refresh();
        for (uint32_t j = 0; j < num_queues; ++j) {
            ServedQueue served{owned_peer(ctx, index, count, j), state.GetValue(j * kWords),
                               state.GetValue(j * kWords + 1), state.GetValue(j * kWords + 2)};
            if (served.completed == served.expected) continue;
            const ServedQueue before = served;
            // ORDER P4: staged and built, then the doorbell.
            ring_doorbell(ctx, served, gate.ready(served.peer, j, built_wqes(ctx, served.peer)));
            if (!drain_completions(ctx, served)) return false;
            state.SetValue(j * kWords + 1, served.rung);
            state.SetValue(j * kWords + 2, served.completed);
            has_moved = has_moved || served.rung != before.rung || served.completed != before.completed;
            if (served.completed == served.expected) {
                retire(ctx, served);
                --open;
            } else if (waiting_for == kMaxRanks) {
                waiting_for = served.peer;
            }
        }
        if (!has_moved && !wait.go_on_for(waiting_for, open)) return false;
    }
    return true;
}

}  // namespace ascend_deepep::kernel

#endif  // ASCEND_DEEPEP_PROTOCOL_URMA_QUEUE_H
