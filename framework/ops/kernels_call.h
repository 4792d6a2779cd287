// SPDX-License-Identifier: Apache-2.0
//
// What the kernels of both operators share: the communicator of a call, refusing, raising. Layer: framework.
#ifndef ASCEND_DEEPEP_FRAMEWORK_OPS_KERNELS_CALL_H
#define ASCEND_DEEPEP_FRAMEWORK_OPS_KERNELS_CALL_H

#include <torch/csrc/stable/accelerator.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "framework/ops/kernels.h"
#include "framework/runtime/communicator.h"
#include "op_host/status.h"
#include "op_host/tensor_device.h"

namespace ascend_deepep::ops {

// The communicator of a call; while it lives, the communicator's device is torch's current one, so that memory and
// streams are that device's.
class CallScope {
  public:
    // Raises the typed exception of an unknown name: there is nobody to tell.
    explicit CallScope(const std::string& group_ep);

    Communicator& communicator() const { return *communicator_; }

    // Where the communicator takes tensors. A tensor elsewhere, such as one on the CPU for a communicator of NPUs, is
    // refused by the checks.
    op_host::TensorDevice device() const;

    // Tells the other ranks why this one does not take part, then raises the outcome.
    [[noreturn]] void refuse_and_raise(OperationKind kind, const op_host::Status& reason) const;

  private:
    std::shared_ptr<Communicator> communicator_;
    std::optional<torch::stable::accelerator::DeviceGuard> guard_;
};

void raise_if_bad(const op_host::Status& status);

// An argument that may be absent, as rows one behind the other.
class PlainTensor {
  public:
    PlainTensor(const KernelDevice& device, const OptionalTensor& original);

    // Null when it is absent or has no elements.
    template <typename T>
    T* data() const {
        return plain_ && plain_->numel() != 0 ? static_cast<T*>(plain_->data_ptr()) : nullptr;
    }
    void add_to(std::vector<AtenTensorHandle>* used) const;

    // Of an argument that the call has written: into the caller's tensor, where that is another.
    void write_back();

  private:
    OptionalTensor original_, plain_;
};

Tensor make_output(const KernelDevice& device, const OutputSpec& spec, const Tensor& like);

}  // namespace ascend_deepep::ops

#endif  // ASCEND_DEEPEP_FRAMEWORK_OPS_KERNELS_CALL_H
