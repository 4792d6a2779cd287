// SPDX-License-Identifier: Apache-2.0
//
// KernelDevice of the CPU. Layer: framework.
#include "framework/ops/cpu_device.h"

#include <torch/csrc/stable/ops.h>

#include <cstring>

#include "framework/ops/cpu_output_pool.h"
#include "framework/ops/errors.h"
#include "framework/ops/kernels.h"

namespace ascend_deepep::ops {
namespace {

class CpuDevice final : public KernelDevice {
  public:
    Tensor empty(std::initializer_list<int64_t> shape, int32_t dtype, const Tensor& /*like*/) const override {
        return make_output(shape, dtype);
    }

    Tensor zeros(int64_t size, int32_t dtype, const Tensor& /*like*/) const override {
        Tensor tensor = make_output({size}, dtype);
        const size_t bytes = static_cast<size_t>(size) * tensor.element_size();
        if (bytes > 0) std::memset(tensor.data_ptr(), 0, bytes);  // an empty tensor has no address
        return tensor;
    }

    Tensor plain(const Tensor& tensor) const override {
        return tensor.is_contiguous() ? tensor : torch::stable::contiguous(tensor);
    }

    op_host::Status launch(const std::vector<AtenTensorHandle>& /*tensors: the caller's, to the end of this*/,
                           const std::function<op_host::Status()>& operation) const override {
        const ReleasedGil released;
        return operation();
    }
};

}  // namespace

DispatchOutputs cpu_dispatch(const DispatchArguments& arguments) {
    return run_dispatch(CpuDevice(), arguments);
}

Tensor cpu_combine(const CombineArguments& arguments) {
    return run_combine(CpuDevice(), arguments);
}

}  // namespace ascend_deepep::ops
