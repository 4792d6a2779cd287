// SPDX-License-Identifier: Apache-2.0
// Shared heaps, the engine over them, and the tables that aclshmem would publish. Layer: tests.
#include "fake_fabric.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <stdexcept>

#include "twin/fabric/block_copy.h"

namespace ascend_deepep::test {

SharedHeaps::SharedHeaps(uint32_t num_ranks, uint64_t bytes) : num_ranks_(num_ranks), bytes_(bytes) {
    void* memory =
        ::mmap(nullptr, num_ranks * bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::runtime_error("no memory for the heaps");
    base_ = static_cast<uint8_t*>(memory);
}

SharedHeaps::~SharedHeaps() {
    ::munmap(base_, num_ranks_ * bytes_);
}

FakeFabric::FakeFabric(const SharedHeaps& heaps, uint32_t rank, uint32_t queue_depth)
    : heaps_(heaps), rank_(rank), memory_(twin::UrmaEngine::memory_bytes(heaps.num_ranks(), queue_depth, queue_depth)) {
    twin::EngineConfig config{};
    config.rank = rank;
    config.sq_depth = queue_depth;
    config.cq_depth = queue_depth;
    config.local_base = heaps.heap(rank);
    config.window_bytes = heaps.bytes();
    for (uint32_t peer = 0; peer < heaps.num_ranks(); ++peer) {
        twin::FabricAddress address = twin::fabric_address(peer, 1000 + peer);
        address.base = reinterpret_cast<uint64_t>(heaps.heap(peer));
        if (peer == rank) address.token = 0;  // aclshmem's queues want no local token
        config.ranks.push_back(address);
    }
    engine_ = std::make_unique<twin::UrmaEngine>(config, memory_, *this);
}

void FakeFabric::window_write(void* dst, const void* src, size_t bytes) {
    twin::write_window(static_cast<uint8_t*>(dst), static_cast<const uint8_t*>(src), bytes);
}

void FakeFabric::window_read(void* dst, const void* src, size_t bytes) {
    twin::read_window(static_cast<uint8_t*>(dst), static_cast<const uint8_t*>(src), bytes);
}

void FakeFabric::window_read_pieces(const twin::Pieces& pieces) {
    twin::read_window(pieces);
}

void FakeFabric::idle() {
    ::usleep(50);
}

CqeStatus FakeFabric::deliver(uint32_t peer, uint64_t remote_offset, const uint8_t* source, uint32_t bytes) {
    twin::write_window(heaps_.heap(peer) + remote_offset, source, bytes);
    return CqeStatus::kOk;
}

template <typename Queue>
void FakeFabric::publish_as(uint64_t sq_bytes) {
    const uint64_t n = heaps_.num_ranks();
    const uint64_t cq_bytes = sizeof(Queue::cq);
    tables_.assign(sizeof(npu::ShmemQueueInfo) + n * (2 * sq_bytes + 2 * cq_bytes + sizeof(ShmemRemoteMemory)), 0);
    npu::ShmemQueueInfo info{};
    info.queues_per_peer = 1;
    info.sq = reinterpret_cast<uint64_t>(tables_.data()) + sizeof(info);
    info.rq = info.sq + n * sq_bytes;
    info.send_cq = info.rq + n * sq_bytes;
    info.receive_cq = info.send_cq + n * cq_bytes;
    info.memory = info.receive_cq + n * cq_bytes;
    std::memcpy(tables_.data(), &info, sizeof(info));
    endpoint_ids_.resize(n);
    for (uint32_t peer = 0; peer < n; ++peer) {
        if (peer == rank_) continue;
        const QueueContext& context = engine_->context(peer);
        std::memcpy(endpoint_ids_[peer].data(), context.remote_eid, sizeof(context.remote_eid));
        const uint64_t counter = reinterpret_cast<uint64_t>(&zero_counter_);
        Queue queue;
        from_queue_context(context,
                           {counter, counter, counter, counter, reinterpret_cast<uint64_t>(endpoint_ids_[peer].data())},
                           &queue);
        std::memcpy(reinterpret_cast<void*>(info.sq + peer * sq_bytes), &queue.sq, sizeof(queue.sq));
        std::memcpy(reinterpret_cast<void*>(info.send_cq + peer * cq_bytes), &queue.cq, cq_bytes);
        std::memcpy(reinterpret_cast<void*>(info.memory + peer * sizeof(queue.remote)), &queue.remote,
                    sizeof(queue.remote));
    }
}

void FakeFabric::publish(TableRelease release) {
    record_ = {0, rank_, heaps_.num_ranks(), 0, heaps_.bytes(), 0};
    if (release == TableRelease::kNone) return;
    if (release == TableRelease::kPointer) publish_as<ShmemPointerQueue>(sizeof(ShmemPointerSq));
    if (release == TableRelease::kInline) publish_as<ShmemInlineQueue>(sizeof(ShmemInlineSq));
    if (release == TableRelease::kUnknown) publish_as<ShmemInlineQueue>(sizeof(ShmemInlineSq) + 8);
    record_.queue_info = reinterpret_cast<uint64_t>(tables_.data());
}

}  // namespace ascend_deepep::test
