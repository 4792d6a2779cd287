// SPDX-License-Identifier: Apache-2.0
//
// Streams, task queue and formats of torch_npu. Layer: framework.
// Only what libtorch_npu.so exports may be called here: tools/torch_npu_check compares. Some inline functions of its
// headers use names that it keeps to itself, such as currentStreamCaptureStatus().
#undef TORCH_TARGET_VERSION  // torch_npu has no stable ABI: this unit alone is built for one release of torch
#include "framework/npu/ops/torch_stream.h"

#include <acl/acl_base.h>
#include <c10/core/DeviceGuard.h>
#include <torch/csrc/inductor/aoti_torch/utils.h>
#include <torch_npu/csrc/core/npu/NPUFormat.h>
#include <torch_npu/csrc/core/npu/NPUGraphsUtils.h>
#include <torch_npu/csrc/core/npu/NPUStream.h>
#include <torch_npu/csrc/framework/OpCommand.h>

#include <memory>
#include <utility>
#include <vector>

namespace ascend_deepep::npu {
namespace {

// Storages rather than tensors: the last reference may go on the thread of the task queue, and a tensor that Python
// knows would take the interpreter lock there.
using Storages = std::vector<c10::Storage>;

thread_local std::shared_ptr<const Storages> held_storages;

// The task queue is that of the current stream of the current device.
c10::DeviceGuard on_device(int32_t device) {
    return c10::DeviceGuard(c10::Device(c10::DeviceType::PrivateUse1, static_cast<c10::DeviceIndex>(device)));
}

void enqueue(int32_t device, const char* name, std::function<int()> work) {
    const c10::DeviceGuard guard = on_device(device);
    const auto run = [work = std::move(work), storages = held_storages] { return work(); };
    at_npu::native::OpCommand::RunOpApiV2(name, run, /*sync=*/false);
}

bool is_private(int64_t format) {
    switch (format) {
        case ACL_FORMAT_UNDEFINED:
        case ACL_FORMAT_ND:
        case ACL_FORMAT_NCL:
        case ACL_FORMAT_NCHW:
        case ACL_FORMAT_NHWC:
        case ACL_FORMAT_NCDHW:
        case ACL_FORMAT_NDHWC:
            return false;
        default:
            return true;
    }
}

}  // namespace

CallStream current_call_stream(int32_t device) {
    const c10::DeviceGuard guard = on_device(device);
    const c10_npu::NPUStream stream = c10_npu::getCurrentNPUStream();
    const bool is_capturing = c10_npu::currentStreamCaptureStatusMayInitCtx() != c10_npu::CaptureStatus::None;
    // stream() without an argument would wait until the task queue is empty.
    return {stream.stream(/*need_empty=*/false), is_capturing,
            [device](const char* name, std::function<int()> work) { enqueue(device, name, std::move(work)); }};
}

HeldStorages::HeldStorages(const std::vector<AtenTensorHandle>& tensors) {
    auto storages = std::make_shared<Storages>();
    for (AtenTensorHandle tensor : tensors)
        storages->push_back(torch::aot_inductor::tensor_handle_to_tensor_pointer(tensor)->storage());
    held_storages = std::move(storages);
}

HeldStorages::~HeldStorages() {
    held_storages.reset();
}

AtenTensorHandle without_private_format(AtenTensorHandle tensor) {
    const at::Tensor& self = *torch::aot_inductor::tensor_handle_to_tensor_pointer(tensor);
    if (!is_private(at_npu::native::get_npu_format(self))) return nullptr;
    return torch::aot_inductor::new_tensor_handle(at_npu::native::npu_format_cast(self, ACL_FORMAT_ND));
}

}  // namespace ascend_deepep::npu
