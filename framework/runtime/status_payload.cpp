// SPDX-License-Identifier: Apache-2.0
//
// Attributes of the exceptions, and statuses of errors that no check or kernel finds. Layer: framework.
#include "framework/runtime/status_payload.h"

#include <unistd.h>

#include "op_host/error_class.h"
#include "op_host/messages.h"

namespace ascend_deepep {
namespace {

bool is_kind(uint32_t kind) {
    return kind >= 1 && kind <= kNumKinds;
}

}  // namespace

StatusPayload status_payload(const op_host::Status& status) {
    const ErrorRecord& record = status.record;
    StatusPayload payload;
    payload.class_name = op_host::error_class(status);
    payload.message = status.message;
    payload.rank = record.rank;
    if (is_kind(record.kind)) payload.operation = op_host::kind_name(static_cast<OperationKind>(record.kind));
    if (record.code == Code::kOk) {
        payload.root = status.refusal.rank;
        return payload;
    }
    payload.root = record.root;
    if (record.stage != Stage::kNone) payload.stage = op_host::stage_name(record.stage);
    payload.seconds = status.seconds;
    return payload;
}

op_host::Status setup_failure(uint32_t rank, const std::string& message) {
    op_host::Status status;
    status.record.code = Code::kQueueFault;
    status.record.rank = rank;
    status.record.root = rank;
    status.message = message;
    return status;
}

op_host::Status own_refusal(uint32_t rank, Code code, Field field, int64_t got, int64_t limit,
                            const std::string& message) {
    op_host::Status status;
    status.refusal.code = code;
    status.refusal.field = field;
    status.refusal.got = got;
    status.refusal.limit = limit;
    status.refusal.rank = rank;
    status.record.rank = rank;
    status.message = message;
    return status;
}

op_host::Status inherited_communicator(uint32_t rank, const std::string& name, int64_t maker) {
    return own_refusal(rank, Code::kNotEqual, Field::kGroupEp, ::getpid(), maker,
                       "communicator '" + name + "' was made by process " + std::to_string(maker) +
                           " and inherited over fork: make one in this process");
}

op_host::Status closed_communicator(uint32_t rank, const std::string& name) {
    return own_refusal(rank, Code::kNotEqual, Field::kGroupEp, 0, 0,
                       "communicator '" + name + "' is closed: make a new one");
}

op_host::Status stamp(op_host::Status status, uint32_t rank, OperationKind kind) {
    status.record.rank = rank;
    status.record.kind = static_cast<uint32_t>(kind);
    return status;
}

}  // namespace ascend_deepep
