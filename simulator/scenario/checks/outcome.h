// SPDX-License-Identifier: Apache-2.0
// Checker "outcome": an operation is good where it should be, refused by the right rank for the right reason where one
// rank refuses, and fails only after a fault that may make it fail, and surely when one of its WQEs completes with an
// error; it advances the sequence number by one; and a broken communicator ends every later operation with the same
// code. Layer: simulator. What a good operation gave is for "results", what a failed one says for "error record".
#pragma once

#include "simulator/scenario/scenario.h"

namespace ascend_deepep::simulator {

// A failed operation: neither good nor refused.
inline bool is_failure(Code code) {
    return code != Code::kOk && !is_refusal(code);
}

// Each returns what is wrong, or nothing. `sequence`: of the rank's communicator before the call.
std::string outcome_fault(const Channel& channel, const sim::World& world, uint32_t rank, const Operation& operation,
                          const OperationOutcome& outcome);
std::string sequence_fault(const Channel& channel, const sim::World& world, uint32_t rank, uint64_t sequence,
                           const OperationOutcome& outcome);
// Of a call after one that failed with `code`.
std::string broken_fault(uint32_t rank, Code code, const OperationOutcome& outcome);

}  // namespace ascend_deepep::simulator
