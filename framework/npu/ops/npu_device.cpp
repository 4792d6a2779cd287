// SPDX-License-Identifier: Apache-2.0
//
// KernelDevice of an NPU. Layer: framework.
#include "framework/npu/ops/npu_device.h"

#include <torch/csrc/stable/ops.h>

#include "framework/npu/ops/torch_stream.h"
#include "framework/ops/errors.h"
#include "framework/ops/kernels.h"

namespace ascend_deepep::npu {
namespace {

using ops::Tensor;

class NpuDevice final : public ops::KernelDevice {
  public:
    Tensor empty(std::initializer_list<int64_t> shape, int32_t dtype, const Tensor& like) const override {
        return ops::empty_tensor(shape, dtype, aoti_torch_device_type_privateuse1(), like.get_device_index());
    }

    // Zeros are written by the device, behind whatever still uses the memory.
    Tensor zeros(int64_t size, int32_t dtype, const Tensor& like) const override {
        Tensor tensor = empty({size}, dtype, like);
        return size == 0 ? tensor : torch::stable::zero_(tensor);
    }

    Tensor plain(const Tensor& tensor) const override {
        AtenTensorHandle copy = without_private_format(tensor.get());
        const Tensor rows = copy == nullptr ? tensor : Tensor(copy);
        return rows.is_contiguous() ? rows : torch::stable::contiguous(rows);
    }

    op_host::Status launch(const std::vector<AtenTensorHandle>& tensors,
                           const std::function<op_host::Status()>& operation) const override {
        const HeldStorages held(tensors);
        const ops::ReleasedGil released;
        return operation();
    }
};

}  // namespace

ops::DispatchOutputs npu_dispatch(const ops::DispatchArguments& arguments) {
    return ops::run_dispatch(NpuDevice(), arguments);
}

ops::Tensor npu_combine(const ops::CombineArguments& arguments) {
    return ops::run_combine(NpuDevice(), arguments);
}

}  // namespace ascend_deepep::npu
