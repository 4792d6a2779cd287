// SPDX-License-Identifier: Apache-2.0
//
// Starting an endpoint, its heap ranges, and the order of launches. Layer: framework, devices.
#include "framework/npu/endpoint.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "contract/window_layout.h"
#include "framework/npu/queue_table.h"

namespace ascend_deepep::npu {
namespace {

struct Current {
    std::mutex mutex;
    std::shared_ptr<Endpoint> endpoint;
    pid_t pid = 0;
};

Current& current_endpoint() {
    static auto* instance = new Current;  // never destroyed: the device's runtime may be gone before static destructors
    return *instance;
}

}  // namespace

uint64_t HeapRanges::first_free(uint64_t bytes) const {
    uint64_t offset = 0;
    for (const auto& [first, size] : used_) {
        if (first - offset >= bytes) return offset;
        offset = first + size;
    }
    return bytes_ - offset >= bytes ? offset : bytes_;
}

uint64_t HeapRanges::top() const {
    return used_.empty() ? 0 : used_.rbegin()->first + used_.rbegin()->second;
}

std::shared_ptr<Endpoint> Endpoint::current() {
    Current& current = current_endpoint();
    const std::lock_guard<std::mutex> lock(current.mutex);
    return current.pid == ::getpid() ? current.endpoint : nullptr;
}

pid_t Endpoint::inherited_from() {
    Current& current = current_endpoint();
    const std::lock_guard<std::mutex> lock(current.mutex);
    return current.endpoint != nullptr && current.pid != ::getpid() ? current.pid : 0;
}

std::shared_ptr<Endpoint> Endpoint::start(const Acl& acl, const Shmem& shmem, const EndpointConfig& config) {
    std::shared_ptr<Endpoint> made(new Endpoint(acl, shmem, config));
    made->start_shmem();
    try {
        made->build_tables();
    } catch (const DeviceError&) {
        made->abandon();
        throw;
    }
    Current& current = current_endpoint();
    const std::lock_guard<std::mutex> lock(current.mutex);
    current.endpoint = made;
    current.pid = ::getpid();
    return made;
}

Endpoint::Endpoint(const Acl& acl, const Shmem& shmem, const EndpointConfig& config)
    : acl_(acl), shmem_(shmem), config_(config), ranges_(config.heap_bytes) {}

void Endpoint::start_shmem() {
    if (shmem_.init_status() == kShmemInitialized) {
        throw DeviceError(
            "aclshmem is in use by other code of this process, and its queues can have one user: make the "
            "communicator before that code starts, or in a process of its own");
    }
    // One page to align the heap, one unit for what aclshmem's own allocator takes.
    const uint64_t bytes = align_up(config_.heap_bytes + kPageBytes, kShmemHeapUnit) + kShmemHeapUnit;
    const uint32_t seconds = std::max(1U, config_.timeout_ms / 1000);
    ShmemAttributes attributes{};
    attributes.options_version = kShmemOptionsVersion;
    attributes.engines = kShmemEngineMte | kShmemEngineUdma;
    attributes.init_timeout_s = seconds;
    attributes.create_timeout_s = seconds;
    attributes.control_timeout_s = seconds;
    attributes.socket = -1;
    // The rendezvous socket of aclshmem, inside a job as torch's own; encryption needs certificates that nobody gave.
    require_shmem(shmem_.set_tls(false, nullptr, 0), "aclshmemx_set_conf_store_tls");
    require_shmem(shmem_.set_unique_id(static_cast<int>(config_.rank), static_cast<int>(config_.num_ranks),
                                       static_cast<int64_t>(bytes), &config_.unique_id, &attributes),
                  "aclshmemx_set_attr_uniqueid_args");
    require_shmem(shmem_.init(kShmemInitUniqueId, &attributes), "aclshmemx_init_attr");
}

void Endpoint::build_tables() {
    heap_memory_ = shmem_.malloc(config_.heap_bytes + kPageBytes);
    if (heap_memory_ == nullptr) {
        throw DeviceError("aclshmem_malloc of " + std::to_string(config_.heap_bytes) +
                          " bytes failed: lower heap_bytes, max_tokens, hidden or num_topk, or free device memory");
    }
    heap_ = reinterpret_cast<uint8_t*>(align_up(reinterpret_cast<uint64_t>(heap_memory_), kPageBytes));
    HeapPlace place{config_.rank, config_.heap_bytes, {}};
    for (uint32_t rank = 0; rank < config_.num_ranks; ++rank) {
        void* address = shmem_.address_of(heap_, static_cast<int>(rank));
        if (address == nullptr) {
            throw DeviceError("aclshmem_ptr knows no address of rank " + std::to_string(rank) +
                              "'s heap: every rank must reach every other one directly");
        }
        place.addresses.push_back(reinterpret_cast<uint64_t>(address));
    }
    const std::vector<QueueContext> contexts = read_queue_table(acl_, place);
    std::vector<uint8_t> table(config_.num_ranks * kQueueContextStride);
    for (uint32_t peer = 0; peer < config_.num_ranks; ++peer) {
        std::memcpy(table.data() + peer * kQueueContextStride, &contexts[peer], sizeof(QueueContext));
        if (peer != config_.rank) queue_depth_ = contexts[peer].sq_depth;
    }
    queue_table_ = Allocation(acl_, Place::kDevice, table.size());
    copy_to_device(acl_, queue_table_.data(), table.data(), table.size());
    const uint64_t addresses_bytes = place.addresses.size() * sizeof(uint64_t);
    window_table_ = Allocation(acl_, Place::kDevice, addresses_bytes);
    copy_to_device(acl_, window_table_.data(), place.addresses.data(), addresses_bytes);
}

void Endpoint::abandon() {
    {
        Current& current = current_endpoint();
        const std::lock_guard<std::mutex> lock(current.mutex);
        if (current.endpoint.get() == this) current.endpoint.reset();
    }
    window_table_.release();
    queue_table_.release();
    if (heap_memory_ != nullptr) shmem_.free(heap_memory_);
    shmem_.finalize();  // the reason why all give up is on its way to the caller; this adds nothing to it
}

HeapRanges Endpoint::ranges() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return ranges_;
}

void Endpoint::take(uint64_t offset, uint64_t bytes) {
    const std::lock_guard<std::mutex> lock(mutex_);
    ranges_.take(offset, bytes);
}

void Endpoint::release(uint64_t offset) {
    const std::lock_guard<std::mutex> lock(mutex_);
    ranges_.release(offset);
}

void Endpoint::await_previous(void* stream, void* graph) {
    const Launch& previous = graph == nullptr ? last_ : last_recorded_;
    if (previous.event == nullptr || previous.graph != graph || previous.stream == stream) return;
    if (graph == nullptr) {
        uint32_t status = 0;
        require_acl(acl_, acl_.query_event(previous.event, &status), "aclrtQueryEventStatus");
        if (status == kEventComplete) return;  // its slot is free, the event may soon be recorded for another launch
    }
    require_acl(acl_, acl_.stream_wait_event(stream, previous.event), "aclrtStreamWaitEvent");
}

void Endpoint::launched(void* stream, void* event, void* graph) {
    (graph == nullptr ? last_ : last_recorded_) = Launch{stream, event, graph};
}

void Endpoint::forget(void* event) {
    const std::lock_guard<std::mutex> lock(order_mutex_);
    for (Launch* launch : {&last_, &last_recorded_}) {
        if (launch->event == event) *launch = Launch{};
    }
}

void Endpoint::keep(std::shared_ptr<void> resources) {
    const std::lock_guard<std::mutex> lock(mutex_);
    kept_.push_back(std::move(resources));
}

}  // namespace ascend_deepep::npu
