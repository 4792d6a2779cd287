// SPDX-License-Identifier: Apache-2.0
//
// The kernels on NPU tensors (torch's PrivateUse1): a call puts its work on the current stream and returns.
// Layer: framework. Nothing here waits for the device, so calls may be captured into a graph.
#ifndef ASCEND_DEEPEP_FRAMEWORK_NPU_OPS_NPU_DEVICE_H
#define ASCEND_DEEPEP_FRAMEWORK_NPU_OPS_NPU_DEVICE_H

#include "framework/ops/arguments.h"

namespace ascend_deepep::npu {

ops::DispatchOutputs npu_dispatch(const ops::DispatchArguments& arguments);
ops::Tensor npu_combine(const ops::CombineArguments& arguments);

}  // namespace ascend_deepep::npu

#endif  // ASCEND_DEEPEP_FRAMEWORK_NPU_OPS_NPU_DEVICE_H
