// SPDX-License-Identifier: Apache-2.0
//
// Memory of a device, and pinned memory of its host, with an owner. Layer: framework, devices.
#ifndef ASCEND_DEEPEP_FRAMEWORK_NPU_DEVICE_MEMORY_H
#define ASCEND_DEEPEP_FRAMEWORK_NPU_DEVICE_MEMORY_H

#include <cstdint>

#include "framework/npu/acl.h"

namespace ascend_deepep::npu {

enum class Place { kDevice, kPinnedHost };

class Allocation {
  public:
    Allocation() = default;
    // Throws DeviceError naming the bytes.
    Allocation(const Acl& acl, Place place, uint64_t bytes);
    ~Allocation();
    Allocation(Allocation&& other) noexcept;
    Allocation& operator=(Allocation&& other) noexcept;

    uint8_t* data() const { return data_; }
    uint64_t address() const { return reinterpret_cast<uint64_t>(data_); }
    uint64_t bytes() const { return bytes_; }
    void release();

  private:
    const Acl* acl_ = nullptr;
    Place place_ = Place::kDevice;
    uint8_t* data_ = nullptr;
    uint64_t bytes_ = 0;
};

// Synchronous copies, for what is done once.
void copy_to_device(const Acl& acl, void* to, const void* from, uint64_t bytes);
void zero_device(const Acl& acl, void* memory, uint64_t bytes);

// Makes `device` the calling thread's while it lives. A caller that is on another one is put back there: torch_npu
// remembers which it has selected. A thread that had none keeps this one.
class DeviceScope {
  public:
    DeviceScope(const Acl& acl, int32_t device);
    ~DeviceScope();
    DeviceScope(const DeviceScope&) = delete;
    DeviceScope& operator=(const DeviceScope&) = delete;

  private:
    const Acl& acl_;
    int32_t previous_ = kNone;
    static constexpr int32_t kNone = -1;
};

}  // namespace ascend_deepep::npu

#endif  // ASCEND_DEEPEP_FRAMEWORK_NPU_DEVICE_MEMORY_H
