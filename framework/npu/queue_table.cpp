// SPDX-License-Identifier: Apache-2.0
//
// From aclshmem's device tables to QueueContext. Layer: framework, devices. Read once, when an endpoint starts.
#include "framework/npu/queue_table.h"

#include "contract/arch35/queue_tables.h"

namespace ascend_deepep::npu {
namespace {

constexpr const char* kAdvice =
    "this release of ascend-deepep knows the tables of aclshmem 1.1 to 1.3 with one queue a "
    "peer and no relay: install such a release";

[[noreturn]] void refuse(const std::string& what) {
    throw DeviceError("aclshmem's device tables: " + what + "; " + kAdvice);
}

// A view of structures in device memory.
class DeviceReader {
  public:
    explicit DeviceReader(const Acl& acl) : acl_(acl) {}

    template <typename T>
    T read(uint64_t address) const {
        T value{};
        copy(address, &value, sizeof(T));
        return value;
    }
    template <typename T>
    std::vector<T> read_array(uint64_t address, uint32_t count) const {
        std::vector<T> values(count);
        copy(address, values.data(), count * sizeof(T));
        return values;
    }

  private:
    void copy(uint64_t address, void* to, size_t bytes) const {
        require_acl(acl_, acl_.memcpy(to, bytes, reinterpret_cast<const void*>(address), bytes, kDeviceToHost),
                    "aclrtMemcpy");
    }

    const Acl& acl_;
};

const char* fault_text(QueueTableFault fault) {
    switch (fault) {
        case QueueTableFault::kNone:
            break;
        case QueueTableFault::kEntryBytes:
            return "an entry of a ring is not 64 bytes";
        case QueueTableFault::kQueueDepth:
            return "a depth is no power of two from 4 to 32768";
        case QueueTableFault::kCqDepth:
            return "the completion queue holds fewer entries than the send queue";
        case QueueTableFault::kQueueType:
            return "it is no URMA queue";
        case QueueTableFault::kRemoteLength:
            return "the peer's memory has another length";
        case QueueTableFault::kNoRing:
            return "a ring or a doorbell has no address";
    }
    return "unknown fault";
}

// The table of one release.
template <typename Queue>
class QueueReader {
  public:
    QueueReader(const DeviceReader& reader, const ShmemQueueInfo& info, const ShmemDeviceRecord& record)
        : reader_(reader),
          record_(record),
          sq_(reader.read_array<decltype(Queue::sq)>(info.sq, record.num_ranks)),
          cq_(reader.read_array<decltype(Queue::cq)>(info.send_cq, record.num_ranks)),
          memory_(reader.read_array<ShmemRemoteMemory>(info.memory, record.num_ranks)) {}

    QueueContext context(uint32_t peer, const HeapPlace& heap) const {
        const Queue queue{sq_[peer], cq_[peer], memory_[peer]};
        QueueReadings readings{};
        read_counters(queue, &readings);
        const auto eid = reader_.read_array<uint32_t>(queue.remote.eid_address, 4);
        for (size_t i = 0; i < eid.size(); ++i)
            readings.remote_eid[i] = eid[i];
        readings.remote_bytes = registered_bytes(peer, queue.remote, heap);
        QueueContext context;
        const QueueTableFault fault = to_queue_context(queue, readings, &context);
        if (fault != QueueTableFault::kNone) {
            refuse("the queue to rank " + std::to_string(peer) + ": " + fault_text(fault));
        }
        context.remote_base = heap.addresses[peer];
        context.remote_bytes = heap.bytes;
        return context;
    }

  private:
    void read_counters(const ShmemPointerQueue& queue, QueueReadings* readings) const {
        readings->posted = reader_.read<uint32_t>(queue.sq.head_address);
        readings->consumed = reader_.read<uint32_t>(queue.cq.tail_address);
    }
    void read_counters(const ShmemInlineQueue&, QueueReadings*) const {}  // they stand in the table

    // The table has the low word of the length only: the smallest length with that low word that covers the heap, which
    // must not be more than a rank's addresses.
    uint64_t registered_bytes(uint32_t peer, const ShmemRemoteMemory& remote, const HeapPlace& heap) const {
        const uint64_t first = heap.addresses[peer];
        uint64_t bytes = remote.length;
        const uint64_t need = first - remote.base + heap.bytes;
        if (bytes < need) bytes += ceil_div(need - bytes, uint64_t{1} << 32) << 32;
        if (first < remote.base || bytes > record_.bytes_per_rank) {
            refuse("the memory that rank " + std::to_string(peer) + " has registered (address " +
                   std::to_string(remote.base) + ", low word of its length " + std::to_string(remote.length) +
                   ") does not hold its heap of " + std::to_string(heap.bytes) + " bytes at " + std::to_string(first));
        }
        return bytes;
    }
    static constexpr uint64_t ceil_div(uint64_t a, uint64_t b) { return (a + b - 1) / b; }

    const DeviceReader& reader_;
    const ShmemDeviceRecord& record_;
    std::vector<decltype(Queue::sq)> sq_;
    std::vector<decltype(Queue::cq)> cq_;
    std::vector<ShmemRemoteMemory> memory_;
};

template <typename Queue>
bool has_sizes_of(uint64_t sq_bytes, uint64_t cq_bytes) {
    return sq_bytes == sizeof(Queue::sq) && cq_bytes == sizeof(Queue::cq);
}

template <typename Queue>
std::vector<QueueContext> read_all(const DeviceReader& reader, const ShmemQueueInfo& info,
                                   const ShmemDeviceRecord& record, const HeapPlace& heap) {
    const QueueReader<Queue> queues(reader, info, record);
    std::vector<QueueContext> contexts(record.num_ranks);
    for (uint32_t peer = 0; peer < record.num_ranks; ++peer) {
        if (peer != heap.rank) contexts[peer] = queues.context(peer, heap);
    }
    return contexts;
}

}  // namespace

std::vector<QueueContext> read_queue_table(const Acl& acl, const HeapPlace& heap) {
    const uint64_t num_ranks = heap.addresses.size();
    if (num_ranks == 1) return {QueueContext{}};  // no peer, no queue
    const DeviceReader reader(acl);
    const auto record = reader.read<ShmemDeviceRecord>(kShmemRecordAddress);
    if (record.instance != 0 || record.rank != heap.rank || record.num_ranks != num_ranks) {
        refuse("their record is of rank " + std::to_string(record.rank) + " of " + std::to_string(record.num_ranks) +
               ", this is rank " + std::to_string(heap.rank) + " of " + std::to_string(num_ranks));
    }
    if (record.queue_info == 0) refuse("there are no UDMA queues");
    const auto info = reader.read<ShmemQueueInfo>(record.queue_info);
    if (info.queues_per_peer != 1) refuse(std::to_string(info.queues_per_peer) + " queues a peer");
    const uint64_t sq_bytes = (info.rq - info.sq) / num_ranks;
    const uint64_t cq_bytes = (info.receive_cq - info.send_cq) / num_ranks;
    const bool is_dense = info.sq == record.queue_info + sizeof(info) && info.rq == info.sq + sq_bytes * num_ranks &&
                          info.send_cq == info.rq + sq_bytes * num_ranks &&
                          info.receive_cq == info.send_cq + cq_bytes * num_ranks &&
                          info.memory == info.receive_cq + cq_bytes * num_ranks;
    if (is_dense && has_sizes_of<ShmemInlineQueue>(sq_bytes, cq_bytes)) {
        return read_all<ShmemInlineQueue>(reader, info, record, heap);
    }
    if (is_dense && has_sizes_of<ShmemPointerQueue>(sq_bytes, cq_bytes)) {
        return read_all<ShmemPointerQueue>(reader, info, record, heap);
    }
    refuse("queue structures of " + std::to_string(sq_bytes) + " and " + std::to_string(cq_bytes) +
           " bytes are of no known release");
}

}  // namespace ascend_deepep::npu
