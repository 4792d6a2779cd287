// SPDX-License-Identifier: Apache-2.0
//
// The queue table the kernels read: a context for each queue of each peer, in this project's own form. Layer: contract.
// The tables that driver libraries publish differ by release; arch35/queue_tables.h adapts each known one to this.
#ifndef ASCEND_DEEPEP_CONTRACT_QUEUE_CONTEXT_H
#define ASCEND_DEEPEP_CONTRACT_QUEUE_CONTEXT_H

#include <cstdint>

namespace ascend_deepep {

struct QueueContext {
    uint64_t sq_base;      // ring of 64 B WQEs
    uint64_t sq_doorbell;  // device register: 32-bit producer index
    uint64_t cq_base;      // ring of 64 B CQEs
    uint64_t cq_doorbell;  // device register: consumer index, 24 bits
    uint64_t remote_base;  // the peer's window as the fabric addresses it
    uint64_t remote_bytes;
    uint32_t sq_depth;  // power of two
    uint32_t cq_depth;  // >= sq_depth
    uint32_t tpn;
    uint32_t remote_segment;
    uint32_t remote_token;
    uint32_t token_enable;
    uint32_t jetty_type;
    uint32_t target_hint;
    uint32_t local_token;
    uint32_t remote_eid[4];
    uint32_t posted;    // free-running producer index at the end of the last operation, all completed
    uint32_t consumed;  // free-running consumer index of the CQ
    uint32_t reserved;
};
static_assert(sizeof(QueueContext) == 112, "read word by word by kernels");
constexpr uint64_t kQueueContextStride = 128;

}  // namespace ascend_deepep

#endif  // ASCEND_DEEPEP_CONTRACT_QUEUE_CONTEXT_H
