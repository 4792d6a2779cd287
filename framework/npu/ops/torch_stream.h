// SPDX-License-Identifier: Apache-2.0
//
// What the operators need of torch_npu: the current stream and its task queue, and the memory format of a tensor.
// Layer: framework. Behind this header stands the one unit that sees torch_npu's headers.
#ifndef ASCEND_DEEPEP_FRAMEWORK_NPU_OPS_TORCH_STREAM_H
#define ASCEND_DEEPEP_FRAMEWORK_NPU_OPS_TORCH_STREAM_H

#include <torch/csrc/inductor/aoti_torch/c/shim.h>

#include <vector>

#include "framework/npu/stream.h"

namespace ascend_deepep::npu {

// The current stream of NPU `device`, whichever is current. Neither this nor its enqueue() waits for the task queue or
// for the device.
CallStream current_call_stream(int32_t device);

// While it lives, each work enqueued by this thread keeps the storages of the tensors until it has issued its commands.
// From then on torch's allocator keeps the order: memory given back on a stream is used again behind them.
class HeldStorages {
  public:
    explicit HeldStorages(const std::vector<AtenTensorHandle>& tensors);
    ~HeldStorages();
    HeldStorages(const HeldStorages&) = delete;
    HeldStorages& operator=(const HeldStorages&) = delete;
};

// A copy made on the device, as rows of numbers, of a tensor that torch_npu keeps in a private format such as tiles of
// a matrix unit; null where the tensor is in no such format. The caller owns the handle.
AtenTensorHandle without_private_format(AtenTensorHandle tensor);

}  // namespace ascend_deepep::npu

#endif  // ASCEND_DEEPEP_FRAMEWORK_NPU_OPS_TORCH_STREAM_H
