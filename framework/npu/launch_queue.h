// SPDX-License-Identifier: Apache-2.0
//
// Launches of one communicator: put on the caller's stream without a wait, and what their letters say afterwards.
// Layer: framework, devices. It outlives its communicator while work of it is still in a task queue.
#ifndef ASCEND_DEEPEP_FRAMEWORK_NPU_LAUNCH_QUEUE_H
#define ASCEND_DEEPEP_FRAMEWORK_NPU_LAUNCH_QUEUE_H

#include <array>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <set>

#include "framework/npu/endpoint.h"
#include "framework/npu/late_refusals.h"
#include "framework/npu/stream.h"
#include "framework/npu/tiling_slots.h"

namespace ascend_deepep::npu {

// The launches of framework/npu/kernels.h; tests pass their own.
struct Kernels {
    using Launch = void (*)(uint32_t num_cores, uint32_t ub_bytes, void* stream, void* tiling);
    Launch dispatch_v2;
    Launch combine_v2;
    uint32_t ub_bytes;  // what op_host's tiling counts on
};

// One call, ready to run.
struct Operation {
    OperationKind kind = OperationKind::kDispatch;
    bool is_refused = false;
    alignas(8) std::array<uint8_t, kTilingBytes> tiling{};

    template <typename Tiling>
    Tiling* as() {
        static_assert(sizeof(Tiling) <= kTilingBytes);
        return reinterpret_cast<Tiling*>(tiling.data());
    }
};

struct LaunchConfig {
    uint32_t rank;
    uint32_t num_cores;
    uint32_t timeout_ms;
    int32_t device;
    uint64_t window_offset;
    uint64_t window_bytes;
    Kernels kernels;
};

class LaunchQueue : public std::enable_shared_from_this<LaunchQueue> {
  public:
    LaunchQueue(const Acl& acl, std::shared_ptr<Endpoint> endpoint, const LaunchConfig& config, Allocation workspace);
    ~LaunchQueue();

    ControlPage* page() const { return page_; }  // a device address
    uint64_t workspace() const { return workspace_.address(); }
    const LaunchConfig& config() const { return config_; }
    const Endpoint& endpoint() const { return *endpoint_; }

    // Puts the operation on the stream. What goes wrong on the way is failure(), later.
    void submit(const CallStream& stream, const Operation& operation);

    // Reads the letters of what has ended. `is_capturing`: this thread records a graph.
    void collect(bool is_capturing);
    // The first failure; ok() while there is none.
    op_host::Status failure() const;
    void fail(const op_host::Status& failure);
    std::optional<LateRefusals::Notice> take_notice();

    // Waits until the task queue has passed everything on and all streams in use are empty, in slices: `interrupted` is
    // asked between them. False when it said so.
    bool drain(void* current_stream, bool (*interrupted)());

    // No launch starts any more.
    void stop();
    bool is_running() const;
    // An error came between a launch and its event: nothing can tell when that kernel has ended.
    bool has_lost_launch() const;
    bool has_recorded() const;
    // Holds itself for as long as the process lives: kernels may still use its memory.
    void keep();

  private:
    class Ticket;

    int run(void* stream, bool is_capturing, const Operation& operation);
    // The task queue has let go of a call without running it.
    void dropped(OperationKind kind);
    void launch(void* stream, void* graph, const Operation& operation);
    void* graph_of(void* stream, bool is_capturing) const;
    void collect_locked();
    void read(TilingSlot& slot, const Letter& letter);
    void fail_locked(const op_host::Status& failure);

    const Acl& acl_;
    std::shared_ptr<Endpoint> endpoint_;
    LaunchConfig config_;
    Allocation workspace_;
    ControlPage* page_;

    mutable std::mutex mutex_;  // guards what follows
    std::condition_variable passed_on_;
    TilingSlots slots_;
    LateRefusals late_;
    op_host::Status failure_;
    std::set<void*> streams_;  // in use since the last drain()
    uint64_t num_submitted_ = 0;
    uint64_t num_passed_on_ = 0;
    bool is_stopped_ = false;
    bool has_lost_launch_ = false;  // a kernel may be on the device that no event tells of
};

}  // namespace ascend_deepep::npu

#endif  // ASCEND_DEEPEP_FRAMEWORK_NPU_LAUNCH_QUEUE_H
