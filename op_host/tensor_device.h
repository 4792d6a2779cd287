// SPDX-License-Identifier: Apache-2.0
//
// Devices that tensors lie on, as the checks compare them and refusals carry them. Layer: op_host.
#ifndef ASCEND_DEEPEP_OP_HOST_TENSOR_DEVICE_H
#define ASCEND_DEEPEP_OP_HOST_TENSOR_DEVICE_H

#include <cstdint>
#include <string>

namespace ascend_deepep::op_host {

// The values travel in refusals, so that a peer's text names the device too: they never change their meaning.
enum class DeviceType : uint8_t { kOther = 0, kCpu = 1, kNpu = 2, kMeta = 3 };

struct TensorDevice {
    DeviceType type = DeviceType::kCpu;
    int32_t index = 0;  // of an NPU; 0 on every other type

    // Written out, not defaulted: the tables of op_host/cann/ are compiled with kernels too, which are C++17.
    bool operator==(const TensorDevice& other) const { return type == other.type && index == other.index; }
    bool operator!=(const TensorDevice& other) const { return !(*this == other); }
};

// One number for `got` and `limit` of a refusal, and back.
int64_t device_code(TensorDevice device);
TensorDevice device_from_code(int64_t code);

std::string device_name(TensorDevice device);  // as torch spells it: "cpu", "npu:0"

// Names of the targets, as Communicator::target() and ASCEND_DEEPEP_TARGET say them.
constexpr const char* kTwinTarget = "twin";
constexpr const char* kNpuTarget = "ascend950";

// What runs the kernels on tensors of that device.
const char* target_of(DeviceType type);
bool has_target(DeviceType type);

}  // namespace ascend_deepep::op_host

#endif  // ASCEND_DEEPEP_OP_HOST_TENSOR_DEVICE_H
