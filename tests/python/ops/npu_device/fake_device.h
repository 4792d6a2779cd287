// SPDX-License-Identifier: Apache-2.0
//
// A device on host memory for torch's PrivateUse1, in the place of an NPU. Layer: tests.
// Its memory cannot be touched (the program would die) but by work of the device, which holds a DeviceAccess.
#ifndef ASCEND_DEEPEP_TESTS_PYTHON_OPS_NPU_DEVICE_FAKE_DEVICE_H
#define ASCEND_DEEPEP_TESTS_PYTHON_OPS_NPU_DEVICE_FAKE_DEVICE_H

#include <ATen/ATen.h>

#include <cstdint>

namespace fake {

class DeviceAccess {
  public:
    DeviceAccess();
    ~DeviceAccess();
    DeviceAccess(const DeviceAccess&) = delete;
    DeviceAccess& operator=(const DeviceAccess&) = delete;
};

int64_t live_blocks();  // of device memory

// The same memory as a CPU tensor. Touch it under a DeviceAccess only.
at::Tensor as_cpu(const at::Tensor& tensor);

c10::DeviceIndex current_device();

}  // namespace fake

#endif  // ASCEND_DEEPEP_TESTS_PYTHON_OPS_NPU_DEVICE_FAKE_DEVICE_H
