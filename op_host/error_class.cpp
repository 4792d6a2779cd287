// SPDX-License-Identifier: Apache-2.0
//
// The table from codes to exception classes. Layer: op_host.
#include "op_host/error_class.h"

namespace ascend_deepep::op_host {
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

}  // namespace

const char* error_class(const Status& status) {
    const ErrorRecord& record = status.record;
    if (record.code == Code::kPeerAborted) return failure_class(static_cast<Code>(record.got));
    if (record.code != Code::kOk) return failure_class(record.code);
    const Refusal& refusal = status.refusal;
    const bool is_own = refusal.rank == record.rank;
    if (refusal.code == Code::kSignature || !is_own) return "Mismatch";
    return refusal.code == Code::kNotImplemented ? "NotImplementedError" : "ArgumentError";
}

}  // namespace ascend_deepep::op_host
