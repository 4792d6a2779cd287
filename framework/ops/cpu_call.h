// SPDX-License-Identifier: Apache-2.0
//
// What the CPU kernels of both operators share: finding the communicator, refusing, raising. Layer: framework.
#ifndef ASCEND_DEEPEP_FRAMEWORK_OPS_CPU_CALL_H
#define ASCEND_DEEPEP_FRAMEWORK_OPS_CPU_CALL_H

#include <memory>
#include <string>

#include "framework/ops/arguments.h"
#include "framework/runtime/communicator.h"

namespace ascend_deepep::ops {

// Raises the typed exception of an unknown name: there is nobody to tell.
std::shared_ptr<Communicator> find_or_raise(const std::string& group_ep);

// Tells the other ranks why this one does not take part, then raises the outcome.
[[noreturn]] void refuse_and_raise(Communicator& communicator, OperationKind kind, const op_host::Status& reason);

void raise_if_bad(const op_host::Status& status);

// The tensor itself, or a contiguous copy of what its strides show.
Tensor contiguous(const Tensor& tensor);

DispatchOutputs cpu_dispatch(const DispatchArguments& arguments);
Tensor cpu_combine(const CombineArguments& arguments);

}  // namespace ascend_deepep::ops

#endif  // ASCEND_DEEPEP_FRAMEWORK_OPS_CPU_CALL_H
