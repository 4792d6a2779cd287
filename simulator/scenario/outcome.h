// SPDX-License-Identifier: Apache-2.0
// Checkers of what a call gave. Layer: simulator.
// "results": a good operation's outputs are those of the oracle, bit for bit, and a refused one left them alone. It
//   looks at nothing else that a kernel wrote.
// "outcome": an operation is good where it should be, refused by the right rank for the right reason where one rank
//   refuses, and fails only after a fault that may make it fail.
// "error record": a failed operation leaves a complete record: code, own rank, a root that the fault explains, stage,
//   sequence number, missing peers as many as it says.
#pragma once

#include "simulator/scenario/scenario.h"

namespace ascend_deepep::simulator {

// Each returns what is wrong, or nothing.
std::string outcome_fault(const Scenario& scenario, const sim::World& world, uint32_t rank, const Operation& operation,
                          const OperationOutcome& outcome);
std::string record_fault(const sim::World& world, uint32_t rank, uint64_t sequence, const OperationOutcome& outcome,
                         const ErrorRecord& record);
// Of checker "aborts": peers that were not told. The link that a fault cuts is excused.
std::string untold_fault(const sim::World& world, uint32_t rank);
// Of the same checker: the rank had been told and did not look. `start_ns`: when its call began.
std::string unheard_fault(const sim::World& world, uint32_t rank, uint64_t start_ns);
std::string dispatch_fault(const Scenario& scenario, uint32_t rank, const std::vector<Batch>& batches,
                           const DispatchResult& got);
std::string combine_fault(uint32_t rank, const Batch& batch, const CombineResult& got);
// Of an operation that was refused or failed.
std::string leftover_fault(uint32_t rank, const DispatchResult& got);

}  // namespace ascend_deepep::simulator
