// SPDX-License-Identifier: Apache-2.0
// Streams in order, events when they are reached, recordings, and the kernels as tasks of a stream. Layer: tests.
#include "fake_device.h"

#include <unistd.h>

#include <new>
#include <stdexcept>

#include "check.h"
#include "framework/runtime/kernel_library.h"
#include "twin/runtime/launch.h"

namespace ascend_deepep::test {
namespace {

constexpr uint32_t kFakeQueueDepth = 8;

void launch(void (*entry)(uint8_t*), const char* name, uint32_t num_cores, uint32_t ub_bytes, void* stream,
            void* tiling) {
    FakeDevice& device = FakeDevice::instance();
    if (device.take_throw()) throw std::bad_alloc();
    ++device.counts.launches;
    device.enqueue(static_cast<FakeStream*>(stream), {nullptr, 0, [=, &device] {
                                                          twin::LaunchConfig config;
                                                          config.num_cores = num_cores;
                                                          config.dyn_ubuf_bytes = ub_bytes;
                                                          config.kernel_name = name;
                                                          try {
                                                              twin::launch(config, entry, static_cast<uint8_t*>(tiling),
                                                                           *device.fabric());
                                                          } catch (const std::exception& error) {
                                                              check::fail(name, 0, error.what());
                                                          }
                                                      }});
}

void launch_dispatch(uint32_t num_cores, uint32_t ub_bytes, void* stream, void* tiling) {
    launch(kernel_table("fast").dispatch_v2, "dispatch_v2", num_cores, ub_bytes, stream, tiling);
}
void launch_combine(uint32_t num_cores, uint32_t ub_bytes, void* stream, void* tiling) {
    launch(kernel_table("fast").combine_v2, "combine_v2", num_cores, ub_bytes, stream, tiling);
}

}  // namespace

FakeDevice& FakeDevice::instance() {
    static auto* device = new FakeDevice;
    return *device;
}

void FakeDevice::start(SharedHeaps* heaps, uint32_t rank) {
    fabric_ = std::make_unique<FakeFabric>(*heaps, rank, kFakeQueueDepth);
    fabric_->publish(TableRelease::kInline);
    current_ = make_stream();
    npu::register_npu_target(
        {&fake_acl, &fake_shmem, {&launch_dispatch, &launch_combine, twin::kUbMaxDynamicBytes}, [this](int32_t) {
             return call_stream();
         }});
}

FakeStream* FakeDevice::make_stream() {
    const std::lock_guard<std::mutex> lock(mutex_);
    streams_.push_back(std::make_unique<FakeStream>());
    return streams_.back().get();
}

npu::CallStream FakeDevice::call_stream() {
    return {current_, current_->recording != nullptr, [this](const char*, std::function<int()> work) {
                if (std::exchange(refuses_enqueue_, false)) throw std::runtime_error("the task queue is in error");
                if (has_task_queue_) {
                    task_queue_.push_back(std::move(work));
                } else {
                    work();
                }
            }};
}

void FakeDevice::run_task_queue() {
    while (!task_queue_.empty()) {
        task_queue_.front()();
        task_queue_.pop_front();
    }
}

void FakeDevice::enqueue(FakeStream* stream, FakeTask task) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (stream->recording != nullptr) {
        stream->recording->tasks.push_back(std::move(task));
    } else {
        stream->tasks.push_back(std::move(task));
    }
}

bool FakeDevice::take_task(FakeStream* stream, FakeTask* task) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (stream->tasks.empty()) return false;
    *task = std::move(stream->tasks.front());
    stream->tasks.pop_front();
    stream->is_running = true;
    return true;
}

void FakeDevice::run(FakeStream* stream) {
    while (run_one(stream)) {
    }
}

bool FakeDevice::run_one(FakeStream* stream) {
    FakeTask task;
    if (!take_task(stream, &task)) return false;
    while (task.waits_for != nullptr && task.waits_for->num_reached < task.recording) {
        // Up to the event and no further: what comes behind it may wait for this stream.
        if (task.waits_for->stream->is_running || !run_one(task.waits_for->stream)) ::usleep(50);
    }
    if (task.run) task.run();
    const std::lock_guard<std::mutex> lock(mutex_);
    stream->is_running = false;
    return true;
}

void FakeDevice::begin_recording(FakeStream* stream) {
    stream->recording = new FakeGraph;
}

std::unique_ptr<FakeGraph> FakeDevice::end_recording(FakeStream* stream) {
    std::unique_ptr<FakeGraph> graph(stream->recording);
    stream->recording = nullptr;
    return graph;
}

void FakeDevice::replay(const FakeGraph& graph, FakeStream* stream) {
    for (const FakeTask& task : graph.tasks)
        enqueue(stream, task);
}

bool FakeDevice::is_recording_strict() const {
    return current_ != nullptr && current_->recording != nullptr && capture_mode != npu::kCaptureRelaxed;
}

void FakeDevice::fail_next(const std::string& function, int code) {
    const std::lock_guard<std::mutex> lock(mutex_);
    failures_[function] = code;
}

int FakeDevice::take_failure(const char* function) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = failures_.find(function);
    if (found == failures_.end()) return npu::kAclSuccess;
    const int code = found->second;
    failures_.erase(found);
    return code;
}

}  // namespace ascend_deepep::test
