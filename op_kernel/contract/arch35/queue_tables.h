// SPDX-License-Identifier: Apache-2.0
//
// Adapters from the queue tables that driver libraries publish to QueueContext, one a known binary interface, and back.
// Layer: contract. The tables differ by release and carry no version, so an adapter refuses what it cannot vouch for.
// Values that a table only points at (counters, endpoint id) are read by the caller: they lie in device memory.
#ifndef ASCEND_DEEPEP_CONTRACT_ARCH35_QUEUE_TABLES_H
#define ASCEND_DEEPEP_CONTRACT_ARCH35_QUEUE_TABLES_H

#include <cstdint>

#include "contract/arch35/cqe.h"
#include "contract/arch35/wqe.h"
#include "contract/queue_context.h"

namespace ascend_deepep {

enum class QueueTableFault : uint32_t {
    kNone = 0,
    kEntryBytes,    // an entry of a ring is not 64 B
    kQueueDepth,    // not a power of two within [kMinQueueDepth, kMaxQueueDepth]
    kCqDepth,       // the CQ holds fewer entries than the SQ
    kQueueType,     // not a URMA queue
    kRemoteLength,  // the table's length is not that of the peer's window
    kNoRing,        // a ring or a doorbell has no address
};

// What a table does not hold itself.
struct QueueReadings {
    uint32_t posted;    // producer index of the SQ, in 64 B units
    uint32_t consumed;  // consumer index of the CQ
    uint32_t remote_eid[4];
    uint32_t local_token;   // of the memory that WQEs read from; 0 where the driver wants none
    uint64_t remote_bytes;  // of the peer's window
};

// Where the values lie that a table only points at.
struct QueueAddresses {
    uint64_t sq_head, sq_tail, cq_head, cq_tail, remote_eid;
};

constexpr bool is_queue_depth(uint32_t depth) {
    return depth >= kMinQueueDepth && depth <= kMaxQueueDepth && (depth & (depth - 1)) == 0;
}

constexpr QueueTableFault check_rings(const QueueContext& c, uint32_t wqe_bytes, uint32_t cqe_bytes) {
    if (wqe_bytes != kWqeBytes || cqe_bytes != kCqeBytes) return QueueTableFault::kEntryBytes;
    if (!is_queue_depth(c.sq_depth) || !is_queue_depth(c.cq_depth)) return QueueTableFault::kQueueDepth;
    if (c.cq_depth < c.sq_depth) return QueueTableFault::kCqDepth;
    if (c.sq_base == 0 || c.sq_doorbell == 0 || c.cq_base == 0 || c.cq_doorbell == 0) return QueueTableFault::kNoRing;
    return QueueTableFault::kNone;
}

constexpr void set_readings(const QueueReadings& readings, QueueContext* c) {
    c->posted = readings.posted;
    c->consumed = readings.consumed;
    c->local_token = readings.local_token;
    c->remote_bytes = readings.remote_bytes;
    for (int i = 0; i < 4; ++i)
        c->remote_eid[i] = readings.remote_eid[i];
}

// ---- shmem, all revisions: the peer's registered memory ----

struct ShmemRemoteMemory {
    uint8_t token_enable;
    uint8_t jetty_type;  // two bits
    uint8_t target_hint;
    uint8_t reserved0;
    uint32_t tpn;
    uint32_t segment;
    uint32_t token;
    uint32_t length;  // the low 32 bits of it
    uint32_t reserved1;
    uint64_t base;
    uint64_t eid_address;
};
static_assert(sizeof(ShmemRemoteMemory) == 40 && __builtin_offsetof(ShmemRemoteMemory, tpn) == 4 &&
                  __builtin_offsetof(ShmemRemoteMemory, base) == 24,
              "as published");

constexpr void set_remote(const ShmemRemoteMemory& remote, QueueContext* c) {
    c->remote_base = remote.base;
    c->tpn = remote.tpn;
    c->remote_segment = remote.segment;
    c->remote_token = remote.token;
    c->token_enable = remote.token_enable != 0 ? 1 : 0;
    c->jetty_type = remote.jetty_type & 3U;
    c->target_hint = remote.target_hint;
}

constexpr ShmemRemoteMemory shmem_remote(const QueueContext& c, uint64_t eid_address) {
    ShmemRemoteMemory remote{};
    remote.token_enable = static_cast<uint8_t>(c.token_enable);
    remote.jetty_type = static_cast<uint8_t>(c.jetty_type);
    remote.target_hint = static_cast<uint8_t>(c.target_hint);
    remote.tpn = c.tpn;
    remote.segment = c.remote_segment;
    remote.token = c.remote_token;
    remote.length = static_cast<uint32_t>(c.remote_bytes);
    remote.base = c.remote_base;
    remote.eid_address = eid_address;
    return remote;
}

// Beyond 4 GiB the table keeps the low word only, so the true length must come from elsewhere and agree with it.
constexpr QueueTableFault check_remote(const ShmemRemoteMemory& remote, const QueueContext& c) {
    return remote.length == static_cast<uint32_t>(c.remote_bytes) ? QueueTableFault::kNone
                                                                  : QueueTableFault::kRemoteLength;
}

constexpr uint32_t kSoftwareDoorbell = 1;  // the doorbell is a register that a core writes
constexpr uint32_t kEntryShift = 6;
static_assert(kWqeBytes == 1U << kEntryShift && kCqeBytes == 1U << kEntryShift, "64 B entries");

// ---- shmem 2f9100f: counters behind pointers, entry size as a shift ----

struct ShmemPointerSq {
    uint32_t number;
    uint32_t reserved0;
    uint64_t base;
    uint32_t entry_shift;
    uint32_t depth;
    uint64_t head_address;
    uint64_t tail_address;
    uint32_t doorbell_mode;
    uint32_t reserved1;
    uint64_t doorbell;
    uint32_t service_level;
    uint32_t reserved2;
    uint64_t posted_address;
    uint64_t fetch_address;
};
static_assert(sizeof(ShmemPointerSq) == 80 && __builtin_offsetof(ShmemPointerSq, head_address) == 24 &&
                  __builtin_offsetof(ShmemPointerSq, doorbell) == 48,
              "as published");

struct ShmemPointerCq {
    uint32_t number;
    uint32_t reserved0;
    uint64_t base;
    uint32_t entry_shift;
    uint32_t depth;
    uint64_t head_address;
    uint64_t tail_address;
    uint32_t doorbell_mode;
    uint32_t reserved1;
    uint64_t doorbell;
};
static_assert(sizeof(ShmemPointerCq) == 56 && __builtin_offsetof(ShmemPointerCq, doorbell) == 48, "as published");

struct ShmemPointerQueue {
    ShmemPointerSq sq;
    ShmemPointerCq cq;
    ShmemRemoteMemory remote;
};

constexpr QueueTableFault to_queue_context(const ShmemPointerQueue& q, const QueueReadings& readings, QueueContext* c) {
    *c = QueueContext{};
    c->sq_base = q.sq.base;
    c->sq_doorbell = q.sq.doorbell;
    c->sq_depth = q.sq.depth;
    c->cq_base = q.cq.base;
    c->cq_doorbell = q.cq.doorbell;
    c->cq_depth = q.cq.depth;
    set_remote(q.remote, c);
    set_readings(readings, c);
    if (q.sq.entry_shift != kEntryShift || q.cq.entry_shift != kEntryShift) return QueueTableFault::kEntryBytes;
    const QueueTableFault fault = check_rings(*c, kWqeBytes, kCqeBytes);
    return fault != QueueTableFault::kNone ? fault : check_remote(q.remote, *c);
}

constexpr void from_queue_context(const QueueContext& c, const QueueAddresses& at, ShmemPointerQueue* q) {
    *q = ShmemPointerQueue{};
    q->sq.base = c.sq_base;
    q->sq.entry_shift = kEntryShift;
    q->sq.depth = c.sq_depth;
    q->sq.head_address = at.sq_head;
    q->sq.tail_address = at.sq_tail;
    q->sq.doorbell_mode = kSoftwareDoorbell;
    q->sq.doorbell = c.sq_doorbell;
    q->cq.base = c.cq_base;
    q->cq.entry_shift = kEntryShift;
    q->cq.depth = c.cq_depth;
    q->cq.head_address = at.cq_head;
    q->cq.tail_address = at.cq_tail;
    q->cq.doorbell_mode = kSoftwareDoorbell;
    q->cq.doorbell = c.cq_doorbell;
    q->remote = shmem_remote(c, at.remote_eid);
}

// ---- shmem from 5bdf3d3 on: counters inside the contexts, entry size in bytes ----

struct ShmemInlineSq {
    uint32_t number;
    uint32_t reserved0;
    uint64_t base;
    uint32_t entry_bytes;
    uint32_t depth;
    uint32_t head;  // producer index
    uint32_t tail;  // completed requests
    uint32_t doorbell_mode;
    uint32_t reserved1;
    uint64_t doorbell;
    uint32_t service_level;
    uint32_t posted;  // requests, whatever their size
    uint64_t fetch;
};
static_assert(sizeof(ShmemInlineSq) == 64 && __builtin_offsetof(ShmemInlineSq, head) == 24 &&
                  __builtin_offsetof(ShmemInlineSq, doorbell) == 40 && __builtin_offsetof(ShmemInlineSq, posted) == 52,
              "as published");

struct ShmemInlineCq {
    uint32_t number;
    uint32_t reserved0;
    uint64_t base;
    uint32_t entry_bytes;
    uint32_t depth;
    uint32_t head;
    uint32_t tail;  // consumer index
    uint32_t doorbell_mode;
    uint32_t reserved1;
    uint64_t doorbell;
};
static_assert(sizeof(ShmemInlineCq) == 48 && __builtin_offsetof(ShmemInlineCq, tail) == 28 &&
                  __builtin_offsetof(ShmemInlineCq, doorbell) == 40,
              "as published");

struct ShmemInlineQueue {
    ShmemInlineSq sq;
    ShmemInlineCq cq;
    ShmemRemoteMemory remote;
};

// The counters of `readings` are not used: the table holds them.
constexpr QueueTableFault to_queue_context(const ShmemInlineQueue& q, const QueueReadings& readings, QueueContext* c) {
    *c = QueueContext{};
    c->sq_base = q.sq.base;
    c->sq_doorbell = q.sq.doorbell;
    c->sq_depth = q.sq.depth;
    c->cq_base = q.cq.base;
    c->cq_doorbell = q.cq.doorbell;
    c->cq_depth = q.cq.depth;
    set_remote(q.remote, c);
    set_readings(readings, c);
    c->posted = q.sq.head;
    c->consumed = q.cq.tail;
    const QueueTableFault fault = check_rings(*c, q.sq.entry_bytes, q.cq.entry_bytes);
    return fault != QueueTableFault::kNone ? fault : check_remote(q.remote, *c);
}

constexpr void from_queue_context(const QueueContext& c, const QueueAddresses& at, ShmemInlineQueue* q) {
    *q = ShmemInlineQueue{};
    q->sq.base = c.sq_base;
    q->sq.entry_bytes = kWqeBytes;
    q->sq.depth = c.sq_depth;
    q->sq.head = c.posted;
    q->sq.tail = c.consumed;  // all that was posted has completed, one completion a request
    q->sq.posted = c.consumed;
    q->sq.doorbell_mode = kSoftwareDoorbell;
    q->sq.doorbell = c.sq_doorbell;
    q->cq.base = c.cq_base;
    q->cq.entry_bytes = kCqeBytes;
    q->cq.depth = c.cq_depth;
    q->cq.head = c.consumed;
    q->cq.tail = c.consumed;
    q->cq.doorbell_mode = kSoftwareDoorbell;
    q->cq.doorbell = c.cq_doorbell;
    q->remote = shmem_remote(c, at.remote_eid);
}

// ---- HCOMM: 128 B contexts, counters shared with other users of the channel ----

constexpr int32_t kHcommUrmaQueue = 0;

struct HcommSq {
    int32_t type;
    uint32_t reserved0;
    uint64_t base;
    uint64_t head_address;  // u64 there: see hcomm_counters
    uint64_t tail_address;
    uint64_t doorbell;
    uint32_t number;
    uint32_t entry_bytes;
    uint32_t depth;
    uint32_t tpn;
    uint32_t remote_eid[4];
    uint64_t reserved1[7];
};
static_assert(sizeof(HcommSq) == 128 && __builtin_offsetof(HcommSq, doorbell) == 32 &&
                  __builtin_offsetof(HcommSq, tpn) == 52 && __builtin_offsetof(HcommSq, remote_eid) == 56,
              "as published");

struct HcommCq {
    int32_t type;
    uint32_t reserved0;
    uint64_t base;
    uint64_t head_address;
    uint64_t tail_address;
    uint64_t doorbell;
    uint32_t number;
    uint32_t entry_bytes;
    uint32_t depth;
    uint32_t reserved1;
    uint64_t reserved2[9];
};
static_assert(sizeof(HcommCq) == 128 && __builtin_offsetof(HcommCq, doorbell) == 32 &&
                  __builtin_offsetof(HcommCq, depth) == 48,
              "as published");

// The peer's memory comes from the channel's buffer list, whose protection words differ by driver: resolved by the
// host.
struct HcommRemoteMemory {
    uint64_t base;
    uint64_t bytes;
    uint32_t segment;
    uint32_t token;
    uint32_t token_enable;
    uint32_t jetty_type;
    uint32_t target_hint;
    uint32_t reserved;
};

struct HcommQueue {
    HcommSq sq;
    HcommCq cq;
    HcommRemoteMemory remote;
};

// The word at an SQ's head address: producer index in the low half, posted requests in the high half.
constexpr uint64_t hcomm_counters(uint32_t producer, uint32_t requests) {
    return producer | (static_cast<uint64_t>(requests) << 32);
}
constexpr uint32_t hcomm_producer(uint64_t word) {
    return static_cast<uint32_t>(word);
}
constexpr uint32_t hcomm_requests(uint64_t word) {
    return static_cast<uint32_t>(word >> 32);
}

// Endpoint id and length of `readings` are not used: the table holds them.
constexpr QueueTableFault to_queue_context(const HcommQueue& q, const QueueReadings& readings, QueueContext* c) {
    *c = QueueContext{};
    set_readings(readings, c);
    c->sq_base = q.sq.base;
    c->sq_doorbell = q.sq.doorbell;
    c->sq_depth = q.sq.depth;
    c->cq_base = q.cq.base;
    c->cq_doorbell = q.cq.doorbell;
    c->cq_depth = q.cq.depth;
    c->tpn = q.sq.tpn;
    for (int i = 0; i < 4; ++i)
        c->remote_eid[i] = q.sq.remote_eid[i];
    c->remote_base = q.remote.base;
    c->remote_bytes = q.remote.bytes;
    c->remote_segment = q.remote.segment;
    c->remote_token = q.remote.token;
    c->token_enable = q.remote.token_enable;
    c->jetty_type = q.remote.jetty_type;
    c->target_hint = q.remote.target_hint;
    if (q.sq.type != kHcommUrmaQueue || q.cq.type != kHcommUrmaQueue) return QueueTableFault::kQueueType;
    return check_rings(*c, q.sq.entry_bytes, q.cq.entry_bytes);
}

constexpr void from_queue_context(const QueueContext& c, const QueueAddresses& at, HcommQueue* q) {
    *q = HcommQueue{};
    q->sq.type = kHcommUrmaQueue;
    q->sq.base = c.sq_base;
    q->sq.head_address = at.sq_head;
    q->sq.tail_address = at.sq_tail;
    q->sq.doorbell = c.sq_doorbell;
    q->sq.entry_bytes = kWqeBytes;
    q->sq.depth = c.sq_depth;
    q->sq.tpn = c.tpn;
    for (int i = 0; i < 4; ++i)
        q->sq.remote_eid[i] = c.remote_eid[i];
    q->cq.type = kHcommUrmaQueue;
    q->cq.base = c.cq_base;
    q->cq.head_address = at.cq_head;
    q->cq.tail_address = at.cq_tail;
    q->cq.doorbell = c.cq_doorbell;
    q->cq.entry_bytes = kCqeBytes;
    q->cq.depth = c.cq_depth;
    q->remote = HcommRemoteMemory{c.remote_base,  c.remote_bytes, c.remote_segment, c.remote_token,
                                  c.token_enable, c.jetty_type,   c.target_hint,    0};
}

}  // namespace ascend_deepep

#endif  // ASCEND_DEEPEP_CONTRACT_ARCH35_QUEUE_TABLES_H
