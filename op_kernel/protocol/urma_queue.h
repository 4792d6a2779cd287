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

// One of the queues to a peer.
struct QueueId {
    uint32_t peer;
    uint32_t number;  // < queues_per_peer
};

__aicore__ inline uint32_t queue_index(const CoreContext& ctx, const QueueId& id) {
    return id.peer * ctx.tiling->queues_per_peer + id.number;
}

__aicore__ inline __gm__ QueueContext* queue_context(const CoreContext& ctx, const QueueId& id) {
    return (__gm__ QueueContext*)((GM_ADDR)ctx.tiling->queue_table + queue_index(ctx, id) * kQueueContextStride);
}

// How many of `total` things, dealt in turn to `count` takers, taker `index` gets: index, index + count, ...
__aicore__ inline uint32_t dealt(uint32_t total, uint32_t index, uint32_t count) {
    return total > index ? (total - index - 1) / count + 1 : 0;
}

// The j-th queue that owner `index` of `count` serves, in visiting order: first queues of all peers before second ones,
// the next rank first, own rank never.
__aicore__ inline uint32_t owned_queues(const CoreContext& ctx, uint32_t index, uint32_t count) {
    return dealt((ctx.tiling->num_ranks - 1) * ctx.tiling->queues_per_peer, index, count);
}
__aicore__ inline QueueId owned_queue(const CoreContext& ctx, uint32_t index, uint32_t count, uint32_t j) {
    const uint32_t others = ctx.tiling->num_ranks - 1;
    const uint32_t at = index + j * count;
    return QueueId{(ctx.tiling->rank + 1 + at % others) % ctx.tiling->num_ranks, at / others};
}

// What goes to a peer is dealt to its queues in turn: item n of all that the peer gets is item n / queues_per_peer of
// queue n % queues_per_peer. So a queue's items ascend, and all queues have work as soon as the first items are ready.
__aicore__ inline uint32_t items_of_queue(const CoreContext& ctx, const QueueId& id, uint32_t items_of_peer) {
    return dealt(items_of_peer, id.number, ctx.tiling->queues_per_peer);
}
__aicore__ inline uint32_t item_of_peer(const CoreContext& ctx, const QueueId& id, uint32_t item_of_queue) {
    return id.number + item_of_queue * ctx.tiling->queues_per_peer;
}

// WQE i writes `bytes` from local_base + local_slot[i * step] * stride to remote_base + (remote_first + i * step) *
// stride. Fields that the queue fixes are read from its context, word by word.
__simt_vf__ __launch_bounds__(kWqeBatch) inline void compose_wqes(__ubuf__ uint32_t* wqes,
                                                                  __ubuf__ uint32_t* local_slot,
                                                                  __gm__ uint32_t* context, uint64_t local_base,
                                                                  uint64_t remote_base, uint32_t stride, uint32_t bytes,
                                                                  uint32_t remote_first, uint32_t step,
                                                                  uint32_t producer, uint32_t num_wqes) {
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
        const uint64_t local = local_base + uint64_t(local_slot[i * step]) * stride;
        const uint64_t remote = remote_base + uint64_t(remote_first + i * step) * stride;
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
    QueueId queue;
    uint64_t local_base;
    uint64_t remote_offset;  // in the peer's window
    uint32_t stride;         // between slots, on both sides
    uint32_t bytes;
    uint32_t remote_first;
    uint32_t step;   // between two local slots in slots(), and between two remote slots
    uint32_t built;  // WQEs of this operation already in the ring
    uint32_t count;  // <= kWqeBatch
};

// Composes batches in UB and moves them into rings.
class WqeWriter {
  public:
    __aicore__ inline void begin(CoreContext& ctx) {
        ctx.pipe->InitBuffer(slots_, kWqeBatch * kMaxQueuesPerPeer * sizeof(uint32_t));
        ctx.pipe->InitBuffer(wqes_, kWqeBatch * kWqeBytes);
    }

    // Indices of the local slots of the batch, one each `step` words: filled by the caller, by MTE2 or by scalar
    // stores.
    __aicore__ inline AscendC::LocalTensor<uint32_t> slots() { return slots_.Get<uint32_t>(); }

    // The caller has ordered its filling of slots() before V. On return the WQEs are published.
    __aicore__ inline void write(CoreContext& ctx, const WqeBatch& batch) {
        __gm__ QueueContext* queue = queue_context(ctx, batch.queue);
        const uint32_t depth = load(&queue->sq_depth);
        const uint32_t producer = load(&queue->posted) + batch.built;
        AscendC::LocalTensor<uint32_t> wqes = wqes_.Get<uint32_t>();
        asc_vf_call<compose_wqes>(dim3(kWqeBatch), ub_pointer(wqes), ub_pointer(slots()), (__gm__ uint32_t*)queue,
                                  batch.local_base, load(&queue->remote_base) + batch.remote_offset, batch.stride,
                                  batch.bytes, batch.remote_first, batch.step, producer, batch.count);
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
        // ORDER P3: ring, then flag.
        publish(ctx, &ctx.page->built[queue_index(ctx, batch.queue)], batch.built + batch.count);
    }

  private:
    AscendC::TBuf<AscendC::TPosition::VECCALC> slots_;
    AscendC::TBuf<AscendC::TPosition::VECCALC> wqes_;
};

// WQEs of this operation that a queue has completed; 0 until the serving core has said something.
__aicore__ inline uint32_t completed_wqes(const CoreContext& ctx, const QueueId& id) {
    uint32_t value = 0;
    poll(ctx, &ctx.page->completed[queue_index(ctx, id)], value);
    return value;
}

// WQEs that fit the ring of a queue when `built` are in it: ORDER P5, slots of completed WQEs only (A3).
__aicore__ inline uint32_t free_wqes(const CoreContext& ctx, const QueueId& id, uint32_t built) {
    return load(&queue_context(ctx, id)->sq_depth) - (built - completed_wqes(ctx, id));
}

// One queue as its serving core sees it.
struct ServedQueue {
    QueueId id;
    uint32_t expected;  // WQEs of this operation
    uint32_t rung;
    uint32_t completed;
};

// Counts arrived CQEs. False: a bad one, the operation has failed.
__aicore__ inline bool drain_completions(CoreContext& ctx, ServedQueue& served) {
    __gm__ QueueContext* queue = queue_context(ctx, served.id);
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
            fail(ctx,
                 Failure{Code::kBadCompletion, Stage::kDoorbell, served.id.peer, served.id.peer, 0, word, status, 0});
            return false;
        }
        ++served.completed;
    }
    if (served.completed != before) {
        const uint32_t index = (consumed + served.completed) & kCqDoorbellMask;
        store((__gm__ uint32_t*)load(&queue->cq_doorbell), index);
        publish(ctx, &ctx.page->completed[queue_index(ctx, served.id)], served.completed);
    }
    return true;
}

// Rings for WQEs up to `ready` of this operation, when that is news.
__aicore__ inline void ring_doorbell(CoreContext& ctx, ServedQueue& served, uint32_t ready) {
    if (ready == served.rung) return;
    __gm__ QueueContext* queue = queue_context(ctx, served.id);
    served.rung = ready;
    store((__gm__ uint32_t*)load(&queue->sq_doorbell), load(&queue->posted) + ready);
}

// WQEs of this operation that the builder has put in the ring.
__aicore__ inline uint32_t built_wqes(const CoreContext& ctx, const QueueId& id) {
    uint32_t value = 0;
    poll(ctx, &ctx.page->built[queue_index(ctx, id)], value);
    return value;
}

// All WQEs of the operation completed: the next one starts behind them.
__aicore__ inline void retire(CoreContext& ctx, const ServedQueue& served) {
    __gm__ QueueContext* queue = queue_context(ctx, served.id);
    store(&queue->posted, load(&queue->posted) + served.expected);
    store(&queue->consumed, load(&queue->consumed) + served.expected);
}

// Serves the queues that owner `index` of `count` owns until all their WQEs have completed. `Gate` says how many WQEs a
// queue will get (`expected(id)`) and how many of the built ones may be rung (`ready(id, j, built)`).
template <typename Gate>
__aicore__ inline bool serve_queues(CoreContext& ctx, uint32_t index, uint32_t count, Gate& gate) {
    const uint32_t num_queues = owned_queues(ctx, index, count);
    AscendC::TBuf<AscendC::TPosition::VECCALC> buffer;
    constexpr uint32_t kWords = 3;  // expected, rung, completed
    ctx.pipe->InitBuffer(buffer, static_cast<uint32_t>(align_up((num_queues + 1) * kWords * 4, kUnitBytes)));
    AscendC::LocalTensor<uint32_t> state = buffer.Get<uint32_t>();
    uint32_t open = 0;
    for (uint32_t j = 0; j < num_queues; ++j) {
        const uint32_t expected = gate.expected(owned_queue(ctx, index, count, j));
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
            ServedQueue served{owned_queue(ctx, index, count, j), state.GetValue(j * kWords),
                               state.GetValue(j * kWords + 1), state.GetValue(j * kWords + 2)};
            if (served.completed == served.expected) continue;
            const ServedQueue before = served;
            // ORDER P4: staged and built, then the doorbell.
            ring_doorbell(ctx, served, gate.ready(served.id, j, built_wqes(ctx, served.id)));
            if (!drain_completions(ctx, served)) return false;
            state.SetValue(j * kWords + 1, served.rung);
            state.SetValue(j * kWords + 2, served.completed);
            has_moved = has_moved || served.rung != before.rung || served.completed != before.completed;
            if (served.completed == served.expected) {
                retire(ctx, served);
                --open;
            } else if (waiting_for == kMaxRanks) {
                waiting_for = served.id.peer;
            }
        }
        if (!has_moved && !wait.go_on_for(waiting_for, open)) return false;
    }
    return true;
}

}  // namespace ascend_deepep::kernel

#endif  // ASCEND_DEEPEP_PROTOCOL_URMA_QUEUE_H
