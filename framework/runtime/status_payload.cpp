// SPDX-License-Identifier: Apache-2.0
//
// The table from codes to exception classes. Layer: framework.
#include "framework/runtime/status_payload.h"

#include "op_host/messages.h"

namespace ascend_deepep {
namespace {

const char* failure_class(Code code) {
    switch (code) {
        case Code::kTimeout:
            return "WaitTimeout";
        case Code::kPeerLost:
            return "PeerLost";
        case Code::kBadCompletion:
        case Code::kCorruptBlock:
        case Code::kQueueFault:
            return "FabricError";
        default:
            return "DeepEPError";
    }
}

const char* class_of(const op_host::Status& status) {
    const ErrorRecord& record = status.record;
    if (record.code == Code::kPeerAborted) return failure_class(static_cast<Code>(record.got));
    if (record.code != Code::kOk) return failure_class(record.code);
    const Refusal& refusal = status.refusal;
    const bool is_own = refusal.rank == record.rank;
    if (refusal.code == Code::kSignature || !is_own) return "Mismatch";
    return refusal.code == Code::kNotImplemented ? "NotImplementedError" : "ArgumentError";
}

bool is_kind(uint32_t kind) {
    return kind >= 1 && kind <= kNumKinds;
}

}  // namespace

StatusPayload status_payload(const op_host::Status& status) {
    const ErrorRecord& record = status.record;
    StatusPayload payload;
    payload.class_name = class_of(status);
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

}  // namespace ascend_deepep
