// SPDX-License-Identifier: Apache-2.0
//
// Codes and names of devices. Layer: op_host.
#include "op_host/tensor_device.h"

#include "op_host/text.h"

namespace ascend_deepep::op_host {
namespace {

constexpr int64_t kIndexFactor = 256;  // above every DeviceType

}  // namespace

int64_t device_code(TensorDevice device) {
    return device.index * kIndexFactor + static_cast<int64_t>(device.type);
}

TensorDevice device_from_code(int64_t code) {
    return {static_cast<DeviceType>(code % kIndexFactor), static_cast<int32_t>(code / kIndexFactor)};
}

std::string device_name(TensorDevice device) {
    switch (device.type) {
        case DeviceType::kCpu:
            return "cpu";
        case DeviceType::kNpu:
            return text("npu:", device.index);
        case DeviceType::kMeta:
            return "meta";
        case DeviceType::kOther:
            break;
    }
    return "another device";
}

const char* target_of(DeviceType type) {
    switch (type) {
        case DeviceType::kCpu:
            return kTwinTarget;
        case DeviceType::kNpu:
            return kNpuTarget;
        default:
            return "none";
    }
}

bool has_target(DeviceType type) {
    return type == DeviceType::kCpu || type == DeviceType::kNpu;
}

}  // namespace ascend_deepep::op_host
