// SPDX-License-Identifier: Apache-2.0
//
// torch_npu's side, defined against its own headers, so that the product's calls are those that it will make.
// Layer: tests.
#include "fake_torch_npu.h"

#include <torch/library.h>
#include <torch_npu/csrc/core/npu/NPUFormat.h>
#include <torch_npu/csrc/core/npu/NPUGraphsUtils.h>
#include <torch_npu/csrc/core/npu/NPUStream.h>
#include <torch_npu/csrc/framework/OpCommand.h>

#include <set>
#include <utility>
#include <vector>

#include "fake_device.h"

namespace fake {
namespace {

struct Task {
    std::string name;
    std::function<int()> work;
};

struct Queue {
    std::vector<Task> tasks;
    std::vector<std::string> lines;
    std::set<const void*> private_storages;
    bool is_capturing = false;
};

Queue& queue() {
    static auto* instance = new Queue;  // tasks may hold tensors: never destroyed after torch
    return *instance;
}

// Runs what is in the queue. A work that is kept can be run again, as the replay of a graph does.
int64_t run_queue() {
    std::vector<Task> tasks = std::move(queue().tasks);
    queue().tasks.clear();
    const DeviceAccess access;
    for (const Task& task : tasks) {
        const int code = task.work();
        TORCH_CHECK(code == 0, task.name, " failed with ", code);
    }
    return static_cast<int64_t>(tasks.size());
}

std::vector<std::string> take_log() {
    return std::exchange(queue().lines, {});
}

void set_private(const at::Tensor& tensor) {
    queue().private_storages.insert(tensor.storage().data());
}

void set_capturing(bool is_capturing) {
    queue().is_capturing = is_capturing;
}

}  // namespace

void log(const std::string& line) {
    queue().lines.push_back(line);
}

}  // namespace fake

namespace at_npu::native {

void OpCommand::RunOpApiV2(const std::string& name, const PROC_FUNC& work, bool sync) {
    fake::log("enqueue " + name + (sync ? ", waiting" : ""));
    fake::queue().tasks.push_back({name, work});
}

int64_t get_npu_format(const at::Tensor& self) {
    return fake::queue().private_storages.count(self.storage().data()) != 0 ? ACL_FORMAT_FRACTAL_NZ : ACL_FORMAT_ND;
}

at::Tensor npu_format_cast(const at::Tensor& self, int64_t format) {
    fake::log("format_cast " + std::to_string(format));
    return self.clone();
}

}  // namespace at_npu::native

namespace c10_npu {

NPUStream getCurrentNPUStream(c10::DeviceIndex index) {
    const c10::DeviceIndex device = index < 0 ? fake::current_device() : index;
    return NPUStream(NPUStream::UNCHECKED, c10::Stream(c10::Stream::DEFAULT, {c10::DeviceType::PrivateUse1, device}));
}

aclrtStream NPUStream::stream(bool need_empty) const {
    if (need_empty) fake::log("drain");
    return fake::queue().tasks.data();  // any address
}

CaptureStatus currentStreamCaptureStatusMayInitCtx() {
    return fake::queue().is_capturing ? CaptureStatus::Active : CaptureStatus::None;
}

}  // namespace c10_npu

TORCH_LIBRARY_FRAGMENT(fake_npu, m) {
    m.def("run_queue", &fake::run_queue);
    m.def("take_log", &fake::take_log);
    m.def("set_private", &fake::set_private);
    m.def("set_capturing", &fake::set_capturing);
    m.def("live_blocks", &fake::live_blocks);
}
