// SPDX-License-Identifier: Apache-2.0
//
// Allocations and synchronous copies. Layer: framework, devices.
#include "framework/npu/device_memory.h"

#include <utility>

namespace ascend_deepep::npu {

Allocation::Allocation(const Acl& acl, Place place, uint64_t bytes) : acl_(&acl), place_(place), bytes_(bytes) {
    void* memory = nullptr;
    const bool is_device = place == Place::kDevice;
    const int code = is_device ? acl.malloc(&memory, bytes, kMallocHugeFirst) : acl.malloc_host(&memory, bytes);
    const std::string function =
        std::string(is_device ? "aclrtMalloc" : "aclrtMallocHost") + " of " + std::to_string(bytes) + " bytes";
    require_acl(acl, code, function.c_str());
    data_ = static_cast<uint8_t*>(memory);
}

Allocation::~Allocation() {
    release();
}

Allocation::Allocation(Allocation&& other) noexcept {
    *this = std::move(other);
}

Allocation& Allocation::operator=(Allocation&& other) noexcept {
    std::swap(acl_, other.acl_);
    std::swap(place_, other.place_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
}

// A device that fails here has failed elsewhere too, where somebody can be told.
void Allocation::release() {
    if (data_ == nullptr) return;
    if (place_ == Place::kDevice) {
        acl_->free(data_);
    } else {
        acl_->free_host(data_);
    }
    data_ = nullptr;
}

void copy_to_device(const Acl& acl, void* to, const void* from, uint64_t bytes) {
    require_acl(acl, acl.memcpy(to, bytes, from, bytes, kHostToDevice), "aclrtMemcpy");
}

void zero_device(const Acl& acl, void* memory, uint64_t bytes) {
    require_acl(acl, acl.memset(memory, bytes, 0, bytes), "aclrtMemset");
}

DeviceScope::DeviceScope(const Acl& acl, int32_t device) : acl_(acl) {
    int32_t current = kNone;
    if (acl.get_device(&current) != kAclSuccess) current = kNone;
    if (current == device) return;
    require_acl(acl, acl.set_device(device), "aclrtSetDevice");
    previous_ = current;
}

DeviceScope::~DeviceScope() {
    if (previous_ != kNone) acl_.set_device(previous_);  // the caller was on it, and a destructor tells nobody
}

}  // namespace ascend_deepep::npu
