// SPDX-License-Identifier: Apache-2.0
//
// What all communicators of a process on a device share: the symmetric heap that their windows are cut from, the queues
// to the peers, and the order of their launches. Layer: framework, devices.
// One a process, over one set of ranks. It lives until the process ends: leaving it is collective and would wait for
// ranks that are gone. The kernels advance the queues' counters in the one table, so they outlive every communicator.
#ifndef ASCEND_DEEPEP_FRAMEWORK_NPU_ENDPOINT_H
#define ASCEND_DEEPEP_FRAMEWORK_NPU_ENDPOINT_H

#include <sys/types.h>

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "framework/npu/acl.h"
#include "framework/npu/device_memory.h"
#include "framework/npu/shmem.h"

namespace ascend_deepep::npu {

struct EndpointConfig {
    uint64_t id;  // the same on its ranks, not 0
    uint32_t rank;
    uint32_t num_ranks;
    uint64_t heap_bytes;
    uint32_t timeout_ms;
    int32_t device;
    ShmemUniqueId unique_id;
};

// Ranges of the heap, by offset.
class HeapRanges {
  public:
    explicit HeapRanges(uint64_t bytes) : bytes_(bytes) {}

    // Lowest offset where `bytes` fit; the heap's size when they fit nowhere.
    uint64_t first_free(uint64_t bytes) const;
    // Offset behind all ranges in use.
    uint64_t top() const;
    void take(uint64_t offset, uint64_t bytes) { used_[offset] = bytes; }
    void release(uint64_t offset) { used_.erase(offset); }

  private:
    uint64_t bytes_;
    std::map<uint64_t, uint64_t> used_;  // offset -> bytes
};

class Endpoint {
  public:
    // That of this process, null when there is none. An inherited one (fork) is none.
    static std::shared_ptr<Endpoint> current();
    // The process whose endpoint this one has inherited over fork; 0: none.
    static pid_t inherited_from();
    // Collective. Starts aclshmem, takes its whole heap, reads the queues. Becomes current().
    static std::shared_ptr<Endpoint> start(const Acl& acl, const Shmem& shmem, const EndpointConfig& config);
    // Collective: all ranks give up one that has no communicator yet. Ranks that never started theirs make the others
    // wait for aclshmem's control time-out.
    void abandon();

    const EndpointConfig& config() const { return config_; }
    uint64_t window_table() const { return window_table_.address(); }
    uint64_t queue_table() const { return queue_table_.address(); }
    uint32_t queue_depth() const { return queue_depth_; }
    uint8_t* heap() const { return heap_; }

    HeapRanges ranges() const;
    void take(uint64_t offset, uint64_t bytes);
    void release(uint64_t offset);

    // Launches of all communicators, one at a time: hold order_mutex() from await_previous() to launched().
    std::mutex& order_mutex() { return order_mutex_; }
    // Lets `stream` wait, on the device, for the launch before. `graph`: what records it, null when it runs. Recorded
    // launches wait for launches of their own recording only: a replay is ordered as the stream it is replayed on.
    void await_previous(void* stream, void* graph);
    void launched(void* stream, void* event, void* graph);
    // The event is about to go.
    void forget(void* event);

    // Holds what a kernel may still use, for as long as the process lives.
    void keep(std::shared_ptr<void> resources);

  private:
    struct Launch {
        void* stream = nullptr;
        void* event = nullptr;
        void* graph = nullptr;
    };

    Endpoint(const Acl& acl, const Shmem& shmem, const EndpointConfig& config);
    void start_shmem();
    void build_tables();

    const Acl& acl_;
    const Shmem& shmem_;
    EndpointConfig config_;
    void* heap_memory_ = nullptr;  // as aclshmem gave it
    uint8_t* heap_ = nullptr;
    Allocation window_table_;
    Allocation queue_table_;
    uint32_t queue_depth_ = 0;

    std::mutex order_mutex_;
    Launch last_;           // that ran or will run
    Launch last_recorded_;  // of the recording in progress

    mutable std::mutex mutex_;  // guards what follows
    HeapRanges ranges_;
    std::vector<std::shared_ptr<void>> kept_;
};

}  // namespace ascend_deepep::npu

#endif  // ASCEND_DEEPEP_FRAMEWORK_NPU_ENDPOINT_H
