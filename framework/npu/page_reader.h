// SPDX-License-Identifier: Apache-2.0
//
// Looking at the control page, and setting words of it, past whatever runs: by copies on a stream of its own.
// Layer: framework, devices. A stuck kernel holds up its own stream only.
#ifndef ASCEND_DEEPEP_FRAMEWORK_NPU_PAGE_READER_H
#define ASCEND_DEEPEP_FRAMEWORK_NPU_PAGE_READER_H

#include <mutex>
#include <vector>

#include "contract/control_page.h"
#include "framework/npu/device_memory.h"

namespace ascend_deepep::npu {

class PageReader {
  public:
    // `page`: a device address.
    PageReader(const Acl& acl, int32_t device, ControlPage* page);
    ~PageReader();
    PageReader(const PageReader&) = delete;
    PageReader& operator=(const PageReader&) = delete;

    // The first `bytes` of the page. Throws DeviceError, also when the copy has not come within `timeout_ms`.
    std::vector<uint8_t> read(uint64_t bytes, int32_t timeout_ms);
    // Stores one word of the page.
    void write(uint64_t offset, uint64_t word, int32_t timeout_ms);

  private:
    void wait(int32_t timeout_ms);

    const Acl& acl_;
    int32_t device_;
    uint8_t* page_;
    std::mutex mutex_;
    Allocation buffer_;  // pinned
    void* stream_ = nullptr;
};

}  // namespace ascend_deepep::npu

#endif  // ASCEND_DEEPEP_FRAMEWORK_NPU_PAGE_READER_H
