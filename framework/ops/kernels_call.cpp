// SPDX-License-Identifier: Apache-2.0
//
// Shared parts of the kernels. Layer: framework.
#include "framework/ops/kernels_call.h"

#include <torch/csrc/stable/ops.h>

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

PlainTensor::PlainTensor(const KernelDevice& device, const OptionalTensor& original) : original_(original) {
    if (original_) plain_ = device.plain(*original_);
}

void PlainTensor::add_to(std::vector<AtenTensorHandle>* used) const {
    if (plain_) used->push_back(plain_->get());
}

void PlainTensor::write_back() {
    if (original_ && original_->data_ptr() != plain_->data_ptr()) torch::stable::copy_(*original_, *plain_);
}

Tensor make_output(const KernelDevice& device, const OutputSpec& spec, const Tensor& like) {
    if (spec.is_zeros) return device.zeros(spec.rows, spec.dtype, like);
    return spec.columns == 0 ? device.empty({spec.rows}, spec.dtype, like)
                             : device.empty({spec.rows, spec.columns}, spec.dtype, like);
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
