// SPDX-License-Identifier: Apache-2.0
//
// From a status to the typed Python exception that carries it: one place for all callers. Layer: framework.
#ifndef ASCEND_DEEPEP_FRAMEWORK_RUNTIME_STATUS_PAYLOAD_H
#define ASCEND_DEEPEP_FRAMEWORK_RUNTIME_STATUS_PAYLOAD_H

#include <cstdint>
#include <string>

#include "op_host/status.h"

namespace ascend_deepep {

// Class of ascend_deepep.errors, or the builtin NotImplementedError; then the attributes of DeepEPError. A negative
// number or an empty text stands for None.
struct StatusPayload {
    std::string class_name;
    std::string message;
    int64_t rank = -1;  // which rank is told
    int64_t root = -1;  // which rank is to blame
    std::string stage;
    std::string operation;
    double seconds = -1.0;
};

// In every status that a communicator gives, `record.rank` is the own rank and `record.kind` the operation, refusals
// included: a refusal whose `rank` is another one is a peer's and becomes Mismatch.
StatusPayload status_payload(const op_host::Status& status);

// An error of the system while a communicator was made: becomes FabricError.
op_host::Status setup_failure(uint32_t rank, const std::string& message);

// A refusal of this library that concerns no tensor: becomes ArgumentError on the rank it names.
op_host::Status own_refusal(uint32_t rank, Code code, Field field, int64_t got, int64_t limit,
                            const std::string& message);

// The two ways in which a communicator of any target is no longer usable: inherited over fork from the process `maker`,
// and closed.
op_host::Status inherited_communicator(uint32_t rank, const std::string& name, int64_t maker);
op_host::Status closed_communicator(uint32_t rank, const std::string& name);

// The status as that of an operation of rank `rank`: see status_payload().
op_host::Status stamp(op_host::Status status, uint32_t rank, OperationKind kind);

}  // namespace ascend_deepep

#endif  // ASCEND_DEEPEP_FRAMEWORK_RUNTIME_STATUS_PAYLOAD_H
