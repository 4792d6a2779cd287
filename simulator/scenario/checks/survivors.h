// SPDX-License-Identifier: Apache-2.0
// Checker "survivors": on the communicator that the living processes make after a failure every call is good. Layer:
// simulator. What its calls gave is for "results"; that they end is for "liveness" and "every wait ends".
#pragma once

#include "simulator/scenario/checks/text.h"
#include "simulator/scenario/scenario.h"

namespace ascend_deepep::simulator {

// What is wrong, or nothing.
inline std::string survivors_fault(uint32_t rank, uint64_t sequence, const OperationOutcome& outcome) {
    if (outcome.code == Code::kOk && outcome.sequence == sequence) return "";
    return of_rank(rank, "operation " + std::to_string(sequence) + " of the communicator of the survivors ended as " +
                             std::to_string(outcome.sequence) + " with code " +
                             std::to_string(static_cast<uint32_t>(outcome.code)));
}

}  // namespace ascend_deepep::simulator
