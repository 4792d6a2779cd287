// SPDX-License-Identifier: Apache-2.0
//
// The URMA queues that aclshmem made for this rank, as the table our kernels read. Layer: framework, devices.
// aclshmem publishes them in device memory without a version. Its arrays lie one behind the other, so their distances
// tell the sizes of their structures and with them the release; what does not fit a known one is refused.
#ifndef ASCEND_DEEPEP_FRAMEWORK_NPU_QUEUE_TABLE_H
#define ASCEND_DEEPEP_FRAMEWORK_NPU_QUEUE_TABLE_H

#include <cstdint>
#include <vector>

#include "contract/queue_context.h"
#include "framework/npu/acl.h"

namespace ascend_deepep::npu {

// One record per instance of aclshmem at a fixed device address; ours is instance 0.
struct ShmemDeviceRecord {
    uint32_t instance;
    uint32_t rank;
    uint32_t num_ranks;
    uint32_t context_bytes;
    uint64_t bytes_per_rank;  // addresses a rank's heap may take
    uint64_t queue_info;      // address of a ShmemQueueInfo, 0 without UDMA
};
static_assert(sizeof(ShmemDeviceRecord) == 32, "as published");
constexpr uint64_t kShmemRecordBytes = 128;
constexpr uint64_t kShmemDeviceEnd = 0x180000000000ULL - (uint64_t{1} << 30);
constexpr uint64_t kShmemMaxInstances = 511;
constexpr uint64_t kShmemRecordAddress = kShmemDeviceEnd - kShmemMaxInstances * (64 * 1024 + kShmemRecordBytes);

struct ShmemQueueInfo {
    uint32_t queues_per_peer;
    uint32_t reserved;
    uint64_t sq, rq, send_cq, receive_cq, memory;  // arrays by peer
};
static_assert(sizeof(ShmemQueueInfo) == 48, "as published");

// Where the heap of this endpoint lies: the own address of it, and each rank's as this rank addresses it.
struct HeapPlace {
    uint32_t rank;
    uint64_t bytes;
    std::vector<uint64_t> addresses;
};

// One context per rank, the own one empty; `remote_base` is the peer's heap. Throws DeviceError with the reason when
// the release is not known or a value cannot be right.
std::vector<QueueContext> read_queue_table(const Acl& acl, const HeapPlace& heap);

}  // namespace ascend_deepep::npu

#endif  // ASCEND_DEEPEP_FRAMEWORK_NPU_QUEUE_TABLE_H
