// SPDX-License-Identifier: Apache-2.0
// The ACL and aclshmem tables of the fake device. Layer: tests.
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>

#include "fake_device.h"

namespace ascend_deepep::test {
namespace {

using npu::kAclStreamTimeout;
using npu::kAclSuccess;

FakeDevice& device() {
    return FakeDevice::instance();
}

// A call that spoils a recording unless the thread has said it may.
void forbid_in_recording() {
    if (device().is_recording_strict()) ++device().counts.recording_faults;
}

int allocate(void** memory, size_t bytes) {
    forbid_in_recording();
    *memory = std::malloc(bytes);
    std::memset(*memory, 0xA5, bytes);
    ++device().counts.allocations;
    return kAclSuccess;
}
int fake_malloc(void** memory, size_t bytes, uint32_t) {
    const int code = device().take_failure("aclrtMalloc");
    return code != kAclSuccess ? code : allocate(memory, bytes);
}
int fake_malloc_host(void** memory, size_t bytes) {
    return allocate(memory, bytes);
}
int fake_free(void* memory) {
    forbid_in_recording();
    std::free(memory);
    --device().counts.allocations;
    return kAclSuccess;
}

void copy(void* to, const void* from, size_t bytes) {
    const auto* source = reinterpret_cast<uint64_t>(from) == npu::kShmemRecordAddress
                             ? static_cast<const void*>(&device().fabric()->record())
                             : from;
    if (bytes == sizeof(uint64_t)) {  // a device stores a word whole
        uint64_t word;
        std::memcpy(&word, source, sizeof(word));
        __atomic_store_n(static_cast<uint64_t*>(to), word, __ATOMIC_RELEASE);
    } else {
        std::memcpy(to, source, bytes);
    }
}
int fake_memcpy(void* to, size_t, const void* from, size_t bytes, uint32_t) {
    ++device().counts.host_waits;
    copy(to, from, bytes);
    return kAclSuccess;
}
int fake_memcpy_async(void* to, size_t, const void* from, size_t bytes, uint32_t, void* stream) {
    const int code = device().take_failure("aclrtMemcpyAsync");
    if (code != kAclSuccess) return code;
    device().enqueue(static_cast<FakeStream*>(stream), {nullptr, 0, [=] { copy(to, from, bytes); }});
    return kAclSuccess;
}
int fake_memset(void* memory, size_t, int32_t value, size_t bytes) {
    ++device().counts.host_waits;
    std::memset(memory, value, bytes);
    return kAclSuccess;
}

int fake_create_event(void** event, uint32_t) {
    *event = new FakeEvent;
    return kAclSuccess;
}
int fake_destroy_event(void* event) {
    forbid_in_recording();
    delete static_cast<FakeEvent*>(event);
    return kAclSuccess;
}
int fake_record_event(void* event, void* stream) {
    const int code = device().take_failure("aclrtRecordEvent");
    if (code != kAclSuccess) return code;
    auto* recorded = static_cast<FakeEvent*>(event);
    recorded->stream = static_cast<FakeStream*>(stream);
    if (recorded->stream->recording != nullptr) return kAclSuccess;  // part of the graph: the host cannot ask for it
    ++recorded->num_recorded;
    device().enqueue(recorded->stream, {nullptr, 0, [recorded] { ++recorded->num_reached; }});
    return kAclSuccess;
}
int fake_query_event(void* event, uint32_t* status) {
    forbid_in_recording();
    const auto* asked = static_cast<FakeEvent*>(event);
    const bool is_seen = asked->num_reached == asked->num_recorded && !device().holds_events;
    *status = is_seen ? npu::kEventComplete : 0;
    return kAclSuccess;
}
int fake_stream_wait_event(void* stream, void* event) {
    ++device().counts.device_waits;
    auto* awaited = static_cast<FakeEvent*>(event);
    device().enqueue(static_cast<FakeStream*>(stream), {awaited, awaited->num_recorded, {}});
    return kAclSuccess;
}

int fake_create_stream(void** stream) {
    *stream = device().make_stream();
    return kAclSuccess;
}
int fake_destroy_stream(void*) {
    forbid_in_recording();
    return kAclSuccess;
}
// Runs the stream here, unless another thread is at it: then waits for that one.
int fake_synchronize_stream(void* stream, int32_t timeout_ms) {
    forbid_in_recording();
    ++device().counts.host_waits;
    auto* waited = static_cast<FakeStream*>(stream);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
    for (;;) {
        bool is_running;
        {
            const std::lock_guard<std::mutex> lock(device().mutex());
            is_running = waited->is_running;
            if (!is_running && waited->tasks.empty()) return kAclSuccess;
        }
        if (!is_running) {
            device().run(waited);
        } else if (std::chrono::steady_clock::now() > deadline) {
            return kAclStreamTimeout;
        } else {
            ::usleep(200);
        }
    }
}

int fake_get_device(int32_t* id) {
    *id = device().id();
    return kAclSuccess;
}
int fake_set_device(int32_t id) {
    device().select(id);
    return kAclSuccess;
}
int fake_get_device_info(uint32_t, uint32_t attribute, int64_t* value) {
    *value = attribute == npu::kVectorCores ? 8 : -1;
    return kAclSuccess;
}
int fake_capture_info(void* stream, uint32_t* status, void** graph) {
    *graph = static_cast<FakeStream*>(stream)->recording;
    *status = *graph != nullptr ? npu::kCaptureActive : 0;
    return kAclSuccess;
}
int fake_exchange_capture_mode(uint32_t* mode) {
    *mode = device().capture_mode.exchange(*mode);
    return kAclSuccess;
}
const char* fake_recent_error() {
    return "EE9999: told by the fake";
}

bool is_started = false;

int fake_init_status() {
    return is_started ? npu::kShmemInitialized : 0;
}
int fake_get_unique_id(npu::ShmemUniqueId* id) {
    id->version = 136;
    std::memset(id->internal, 0x5A, sizeof(id->internal));
    return 0;
}
int fake_set_unique_id(int rank, int num_ranks, int64_t bytes, npu::ShmemUniqueId* id,
                       npu::ShmemAttributes* attributes) {
    attributes->rank = rank;
    attributes->num_ranks = num_ranks;
    attributes->heap_bytes = static_cast<uint64_t>(bytes);
    attributes->bootstrap = id;
    return 0;
}
int32_t fake_set_tls(bool, const char*, uint32_t) {
    return 0;
}
int fake_init(uint32_t flags, npu::ShmemAttributes* attributes) {
    const auto* id = static_cast<const npu::ShmemUniqueId*>(attributes->bootstrap);
    const bool is_good = flags == npu::kShmemInitUniqueId && attributes->heap_bytes % npu::kShmemHeapUnit == 0 &&
                         (attributes->engines & npu::kShmemEngineUdma) != 0 && id->internal[0] == 0x5A;
    if (!is_good) return -1;
    const int code = device().take_failure("aclshmemx_init_attr");
    is_started = code == 0;
    return code;
}
int fake_finalize() {
    is_started = false;
    return 0;
}
void* fake_shmem_malloc(size_t bytes) {
    const npu::ShmemDeviceRecord& record = device().fabric()->record();
    uint8_t* heap = device().fabric()->heap();
    return bytes + 64 <= record.bytes_per_rank ? heap + 64 : nullptr;  // 64: not aligned as a heap needs it
}
void fake_shmem_free(void*) {}
void* fake_address_of(void* memory, int rank) {
    return device().fabric()->address_of(memory, static_cast<uint32_t>(rank));
}

}  // namespace

const npu::Acl& fake_acl() {
    static const npu::Acl acl = {&fake_malloc,
                                 &fake_free,
                                 &fake_malloc_host,
                                 &fake_free,
                                 &fake_memcpy,
                                 &fake_memcpy_async,
                                 &fake_memset,
                                 &fake_create_event,
                                 &fake_destroy_event,
                                 &fake_record_event,
                                 &fake_query_event,
                                 &fake_stream_wait_event,
                                 &fake_create_stream,
                                 &fake_destroy_stream,
                                 &fake_synchronize_stream,
                                 &fake_get_device,
                                 &fake_set_device,
                                 &fake_get_device_info,
                                 &fake_capture_info,
                                 &fake_exchange_capture_mode,
                                 &fake_recent_error};
    return acl;
}

const npu::Shmem& fake_shmem() {
    static const npu::Shmem shmem = {&fake_init_status,  &fake_get_unique_id, &fake_set_unique_id,
                                     &fake_set_tls,      &fake_init,          &fake_finalize,
                                     &fake_shmem_malloc, &fake_shmem_free,    &fake_address_of};
    return shmem;
}

}  // namespace ascend_deepep::test
