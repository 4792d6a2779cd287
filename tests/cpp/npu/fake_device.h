// SPDX-License-Identifier: Apache-2.0
// A device in host memory: streams, events, recordings and the ACL functions on them; kernels are the real ones, run on
// the twin's machine. Layer: tests. Nothing happens before a test runs a stream: a copy or a kernel that was enqueued
// has no effect until then, as on a device that is far behind its host.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "fake_fabric.h"
#include "framework/npu/npu_communicator.h"

namespace ascend_deepep::test {

struct FakeEvent;
struct FakeGraph;

struct FakeTask {
    FakeEvent* waits_for = nullptr;  // before it runs
    int recording = 0;               // that recording of the event, not one made later
    std::function<void()> run;       // may be empty
};

struct FakeStream {
    std::deque<FakeTask> tasks;
    FakeGraph* recording = nullptr;
    std::atomic<bool> is_running{false};  // a thread is in one of its tasks
};

struct FakeEvent {
    FakeStream* stream = nullptr;
    std::atomic<int> num_recorded{0}, num_reached{0};
};

struct FakeGraph {
    std::vector<FakeTask> tasks;
};

// What the code under test did, and what a test makes the device do.
struct FakeCounts {
    std::atomic<int> host_waits{0};    // synchronising calls
    std::atomic<int> device_waits{0};  // stream waits for an event
    std::atomic<int> launches{0};
    std::atomic<int> allocations{0};       // live
    std::atomic<int> recording_faults{0};  // calls that a recording forbids
};

class FakeDevice {
  public:
    // The one of this process.
    static FakeDevice& instance();

    // Makes "ascend950" a target of this process, over `heaps`, as `rank`.
    void start(SharedHeaps* heaps, uint32_t rank);

    FakeStream* make_stream();
    // The stream that calls are made on.
    void use(FakeStream* stream) { current_ = stream; }
    FakeStream* current() { return current_; }

    // Runs what is enqueued on the stream, on the calling thread. A kernel may wait for its peers in it.
    void run(FakeStream* stream);
    void run() { run(current_); }

    void begin_recording(FakeStream* stream);
    std::unique_ptr<FakeGraph> end_recording(FakeStream* stream);
    void replay(const FakeGraph& graph, FakeStream* stream);

    // With a task queue, works wait in it until run_task_queue().
    void use_task_queue(bool is_on) { has_task_queue_ = is_on; }
    void run_task_queue();
    // Forgets them unrun, as a queue does behind an error.
    void drop_task_queue() { task_queue_.clear(); }
    void refuse_next_enqueue() { refuses_enqueue_ = true; }
    void throw_in_next_launch() { throws_in_launch_ = true; }
    bool take_throw() { return std::exchange(throws_in_launch_, false); }

    // The device that the thread has selected.
    void select(int32_t id) { id_ = id; }
    int32_t id() const { return id_; }

    // While held, no event is seen complete: the host learns late.
    std::atomic<bool> holds_events{false};
    // The named function fails with this code, once.
    void fail_next(const std::string& function, int code);
    int take_failure(const char* function);

    FakeCounts counts;
    FakeFabric* fabric() { return fabric_.get(); }
    npu::CallStream call_stream();
    void enqueue(FakeStream* stream, FakeTask task);
    bool is_recording_strict() const;
    std::mutex& mutex() { return mutex_; }
    std::atomic<uint32_t> capture_mode{0};

  private:
    bool run_one(FakeStream* stream);
    bool take_task(FakeStream* stream, FakeTask* task);

    std::mutex mutex_;
    std::vector<std::unique_ptr<FakeStream>> streams_;
    std::unique_ptr<FakeFabric> fabric_;
    FakeStream* current_ = nullptr;
    bool has_task_queue_ = false;
    bool refuses_enqueue_ = false;
    bool throws_in_launch_ = false;
    int32_t id_ = 3;
    std::deque<std::function<int()>> task_queue_;
    std::map<std::string, int> failures_;
};

const npu::Acl& fake_acl();
const npu::Shmem& fake_shmem();

}  // namespace ascend_deepep::test
