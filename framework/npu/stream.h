// SPDX-License-Identifier: Apache-2.0
//
// The stream a call is made on, and how its work gets there. Layer: framework, devices.
// With torch it is torch_npu's current stream and task queue (framework/npu/ops); tests bring their own.
#ifndef ASCEND_DEEPEP_FRAMEWORK_NPU_STREAM_H
#define ASCEND_DEEPEP_FRAMEWORK_NPU_STREAM_H

#include <cstdint>
#include <functional>

namespace ascend_deepep::npu {

struct CallStream {
    void* stream;       // aclrtStream
    bool is_capturing;  // a graph records it: nothing runs now, everything may run again
    // Runs `work` in the order of the stream's other work, now or later, on this thread or another; an int that is not
    // 0 is an ACL error code.
    std::function<void(const char* name, std::function<int()> work)> enqueue;
};
// Of the device with this index, whichever the caller is on.
using StreamSource = std::function<CallStream(int32_t device)>;

}  // namespace ascend_deepep::npu

#endif  // ASCEND_DEEPEP_FRAMEWORK_NPU_STREAM_H
