// SPDX-License-Identifier: Apache-2.0
//
// The kernels on CPU tensors: outputs come from a pool, a launch runs on the host twin and is over when it returns.
// Layer: framework.
#ifndef ASCEND_DEEPEP_FRAMEWORK_OPS_CPU_DEVICE_H
#define ASCEND_DEEPEP_FRAMEWORK_OPS_CPU_DEVICE_H

#include "framework/ops/arguments.h"

namespace ascend_deepep::ops {

DispatchOutputs cpu_dispatch(const DispatchArguments& arguments);
Tensor cpu_combine(const CombineArguments& arguments);

}  // namespace ascend_deepep::ops

#endif  // ASCEND_DEEPEP_FRAMEWORK_OPS_CPU_DEVICE_H
