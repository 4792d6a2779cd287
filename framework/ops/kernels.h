// SPDX-License-Identifier: Apache-2.0
//
// The kernels of both operators for tensors with data, whatever device holds them: find the communicator, check, make
// the outputs, launch. What differs by device is behind KernelDevice. Layer: framework.
// Compiled into each library that registers kernels for a device.
#ifndef ASCEND_DEEPEP_FRAMEWORK_OPS_KERNELS_H
#define ASCEND_DEEPEP_FRAMEWORK_OPS_KERNELS_H

#include <functional>
#include <initializer_list>
#include <vector>

#include "framework/ops/arguments.h"
#include "op_host/status.h"

namespace ascend_deepep::ops {

// What the kernels need of a device. Memory is used in the order of the calls, which on an NPU is that of a stream.
class KernelDevice {
  public:
    virtual ~KernelDevice() = default;

    // Uninitialised, contiguous, of one or two dimensions, on the device of `like`.
    virtual Tensor empty(std::initializer_list<int64_t> shape, int32_t dtype, const Tensor& like) const = 0;
    virtual Tensor zeros(int64_t size, int32_t dtype, const Tensor& like) const = 0;

    // The tensor itself, or a copy on its device with one row behind the other.
    virtual Tensor plain(const Tensor& tensor) const = 0;

    // Returns what `operation` returns. It uses the memory of `tensors`, on an NPU after it has returned.
    virtual op_host::Status launch(const std::vector<AtenTensorHandle>& tensors,
                                   const std::function<op_host::Status()>& operation) const = 0;
};

// Raise the typed exceptions of framework/ops/errors.h. A call refused here is told to the other ranks first.
DispatchOutputs run_dispatch(const KernelDevice& device, const DispatchArguments& arguments);
Tensor run_combine(const KernelDevice& device, const CombineArguments& arguments);

}  // namespace ascend_deepep::ops

#endif  // ASCEND_DEEPEP_FRAMEWORK_OPS_KERNELS_H
