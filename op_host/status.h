// SPDX-License-Identifier: Apache-2.0
//
// The outcome of a host-side check or an operation, and its text. Layer: op_host.
#ifndef ASCEND_DEEPEP_OP_HOST_STATUS_H
#define ASCEND_DEEPEP_OP_HOST_STATUS_H

#include <string>

#include "contract/control_message.h"

namespace ascend_deepep::op_host {

// What a check or an operation came to: numbers for control messages, and text for people.
struct Status {
    Refusal refusal{};     // code kOk: fine
    ErrorRecord record{};  // failures only (timeout, lost peer, bad completion, ...)
    std::string message;   // one line: argument or rank, value, limit, remedy
    double seconds = 0.0;  // failures: time since entering the call

    bool ok() const { return refusal.code == Code::kOk && record.code == Code::kOk; }
};

}  // namespace ascend_deepep::op_host

#endif  // ASCEND_DEEPEP_OP_HOST_STATUS_H
