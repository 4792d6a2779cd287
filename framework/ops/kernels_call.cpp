// SPDX-License-Identifier: Apache-2.0
//
// Shared parts of the kernels. Layer: framework.
#include "framework/ops/kernels_call.h"

#include "framework/ops/errors.h"
#include "framework/runtime/status_payload.h"

namespace ascend_deepep::ops {
namespace {

std::shared_ptr<Communicator> find_or_raise(const std::string& group_ep) {
    try {
        return find_communicator(group_ep);
    } catch (const CommunicatorError& error) {
        raise_if_bad(error.status);
        throw;
    }
}

}  // namespace

void raise_if_bad(const op_host::Status& status) {
    if (status.ok()) return;
    const StatusPayload payload = status_payload(status);
    raise_error(payload.class_name, payload.message,
                {payload.rank, payload.root, payload.stage, payload.operation, payload.seconds});
}

CallScope::CallScope(const std::string& group_ep) : communicator_(find_or_raise(group_ep)) {
    if (device().type == op_host::DeviceType::kNpu) guard_.emplace(device().index);
}

op_host::TensorDevice CallScope::device() const {
    const bool is_npu = communicator_->target() == op_host::kNpuTarget;
    return is_npu ? op_host::TensorDevice{op_host::DeviceType::kNpu, communicator_->device_index()}
                  : op_host::TensorDevice{op_host::DeviceType::kCpu, 0};
}

void CallScope::refuse_and_raise(OperationKind kind, const op_host::Status& reason) const {
    op_host::Status outcome;
    {
        const ReleasedGil released;
        outcome = communicator_->refuse(kind, reason);
    }
    raise_if_bad(outcome);
    raise_if_bad(reason);
    STD_TORCH_CHECK(false, "a refusal without a reason");
    __builtin_unreachable();
}

}  // namespace ascend_deepep::ops
