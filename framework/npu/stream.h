// SPDX-License-Identifier: Apache-2.0
//
// The stream that a call runs on, as the communicator of NPUs sees it. Layer: framework.
// torch_npu keeps launches in a task queue of its own, so whatever a call does on the stream goes through enqueue().
#ifndef ASCEND_DEEPEP_FRAMEWORK_NPU_STREAM_H
#define ASCEND_DEEPEP_FRAMEWORK_NPU_STREAM_H

#include <functional>

namespace ascend_deepep::npu {

struct CallStream {
    void* stream;  // aclrtStream
    bool is_capturing;
    // Hands over work that issues commands on the stream and returns an ACL error code. It runs once, in the order of
    // the calls, possibly on another thread and later; `name` is what a profiler shows.
    std::function<void(const char* name, std::function<int()> work)> enqueue;
};

using StreamSource = std::function<CallStream()>;

}  // namespace ascend_deepep::npu

#endif  // ASCEND_DEEPEP_FRAMEWORK_NPU_STREAM_H
