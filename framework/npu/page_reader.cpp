// SPDX-License-Identifier: Apache-2.0
//
// Copies of the control page. Layer: framework, devices.
#include "framework/npu/page_reader.h"

#include <cstring>

namespace ascend_deepep::npu {

PageReader::PageReader(const Acl& acl, int32_t device, ControlPage* page)
    : acl_(acl),
      device_(device),
      page_(reinterpret_cast<uint8_t*>(page)),
      buffer_(acl, Place::kPinnedHost, kControlPageBytes) {
    require_acl(acl_, acl_.create_stream(&stream_), "aclrtCreateStream");
}

PageReader::~PageReader() {
    acl_.destroy_stream(stream_);  // forced: it may still hold a copy that never came
}

void PageReader::wait(int32_t timeout_ms) {
    const int code = acl_.synchronize_stream(stream_, timeout_ms);
    if (code == kAclStreamTimeout) {
        throw DeviceError("the control page could not be copied within " + std::to_string(timeout_ms) +
                              " ms: the device does not answer, look at its log",
                          code);
    }
    require_acl(acl_, code, "aclrtSynchronizeStreamWithTimeout");
}

std::vector<uint8_t> PageReader::read(uint64_t bytes, int32_t timeout_ms) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const DeviceScope on_device(acl_, device_);
    const RelaxedCapture relaxed(acl_, true);  // another thread may be recording
    require_acl(acl_, acl_.memcpy_async(buffer_.data(), kControlPageBytes, page_, bytes, kDeviceToHost, stream_),
                "aclrtMemcpyAsync of the control page");
    wait(timeout_ms);
    return {buffer_.data(), buffer_.data() + bytes};
}

void PageReader::write(uint64_t offset, uint64_t word, int32_t timeout_ms) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const DeviceScope on_device(acl_, device_);
    const RelaxedCapture relaxed(acl_, true);  // another thread may be recording
    std::memcpy(buffer_.data(), &word, sizeof(word));
    require_acl(acl_,
                acl_.memcpy_async(page_ + offset, sizeof(word), buffer_.data(), sizeof(word), kHostToDevice, stream_),
                "aclrtMemcpyAsync of a word of the control page");
    wait(timeout_ms);
}

}  // namespace ascend_deepep::npu
