// SPDX-License-Identifier: Apache-2.0
//
// Shared parts of the CPU kernels. Layer: framework.
#include "framework/ops/cpu_call.h"

#include <torch/csrc/stable/ops.h>

#include "framework/ops/errors.h"
#include "framework/runtime/status_payload.h"

namespace ascend_deepep::ops {

void raise_if_bad(const op_host::Status& status) {
    if (status.ok()) return;
    const StatusPayload payload = status_payload(status);
    raise_error(payload.class_name, payload.message,
                {payload.rank, payload.root, payload.stage, payload.operation, payload.seconds});
}

std::shared_ptr<Communicator> find_or_raise(const std::string& group_ep) {
    try {
        return find_communicator(group_ep);
    } catch (const CommunicatorError& error) {
        raise_if_bad(error.status);
        throw;
    }
}

void refuse_and_raise(Communicator& communicator, OperationKind kind, const op_host::Status& reason) {
    op_host::Status outcome;
    {
        const ReleasedGil released;
        outcome = communicator.refuse(kind, reason);
    }
    raise_if_bad(outcome);
    raise_if_bad(reason);
    STD_TORCH_CHECK(false, "a refusal without a reason");
    __builtin_unreachable();
}

Tensor contiguous(const Tensor& tensor) {
    return tensor.is_contiguous() ? tensor : torch::stable::contiguous(tensor);
}

}  // namespace ascend_deepep::ops
