// SPDX-License-Identifier: Apache-2.0
// Layer: simulator.
#include "simulator/scenario/checks/outcome.h"

#include "simulator/scenario/checks/text.h"

namespace ascend_deepep::simulator {
namespace {

Code expected_code(const Operation& operation) {
    switch (operation.act) {
        case Act::kGood:
            return Code::kOk;
        case Act::kHostRefuses:
            return Code::kBadShape;
        case Act::kBadIds:
            return operation.kind == OperationKind::kDispatch ? Code::kBadExpertId : Code::kOtherIds;
        case Act::kForeignTag:
            return Code::kForeignTriples;
        case Act::kForeignTriple:
            return Code::kBadTriple;
        case Act::kOtherCall:
            return Code::kSignature;
    }
    return Code::kOk;
}

// Who refuses, as `rank` sees it: where calls differ, the actor meets the first of the others.
uint32_t expected_refuser(const Operation& operation, uint32_t rank) {
    if (operation.act != Act::kOtherCall || rank != operation.actor) return operation.actor;
    return operation.actor == 0 ? 1 : 0;
}

std::string operation_text(const OperationOutcome& outcome) {
    return "operation " + std::to_string(outcome.sequence);
}

// A WQE of the operation completed with an error: all completions are counted before it ends, so it has to fail.
bool had_bad_completion(const Channel& channel, const sim::FaultPlan& fault, uint32_t rank, uint64_t sequence) {
    return fault.kind == sim::SimFault::kBadCqe && fault.has_struck && fault.rank == rank &&
           fault.struck_communicator == channel.number && fault.struck_sequence == sequence;
}

}  // namespace

std::string outcome_fault(const Channel& channel, const sim::World& world, uint32_t rank, const Operation& operation,
                          const OperationOutcome& outcome) {
    const uint32_t code = static_cast<uint32_t>(outcome.code);
    if (is_failure(outcome.code)) {
        const sim::FaultPlan& fault = world.fault();
        if (fault.has_struck && !fault.is_over && fault.is_lethal(channel.timeout_ns)) return "";
        const ErrorRecord& record = world.communicator(channel.number).arena().page(rank).record;
        return of_rank(rank, operation_text(outcome) + " failed with code " + std::to_string(code) +
                                 " and nothing explains it (stage " +
                                 std::to_string(static_cast<uint32_t>(record.stage)) + ", core " +
                                 std::to_string(record.core) + ", root " + std::to_string(record.root) + ", peer " +
                                 std::to_string(record.peer) + ", expected " + std::to_string(record.expected) +
                                 ", seen " + std::to_string(record.seen) + ")");
    }
    if (had_bad_completion(channel, world.fault(), rank, outcome.sequence)) {
        return of_rank(rank, operation_text(outcome) + " did not fail, and one of its WQEs completed with an error");
    }
    const Code want = expected_code(operation);
    if (outcome.code != want) {
        return of_rank(rank, operation_text(outcome) + " ended with code " + std::to_string(code) + ", want " +
                                 std::to_string(static_cast<uint32_t>(want)));
    }
    const uint32_t refuser = expected_refuser(operation, rank);
    if (want == Code::kOk || outcome.refusal.rank == refuser) return "";
    return of_rank(rank, operation_text(outcome) + " was refused by rank " + std::to_string(outcome.refusal.rank) +
                             ", want " + std::to_string(refuser));
}

std::string sequence_fault(const Channel& channel, const sim::World& world, uint32_t rank, uint64_t sequence,
                           const OperationOutcome& outcome) {
    const OperationState& state = world.communicator(channel.number).arena().page(rank).state;
    if (outcome.sequence == sequence && state.sequence == sequence + 1) return "";
    return of_rank(rank, "operation " + std::to_string(sequence) + " did not advance the sequence number by one");
}

std::string broken_fault(uint32_t rank, Code code, const OperationOutcome& outcome) {
    if (outcome.code == code) return "";
    return of_rank(rank, "a broken communicator ended an operation with code " +
                             std::to_string(static_cast<uint32_t>(outcome.code)) + ", not " +
                             std::to_string(static_cast<uint32_t>(code)));
}

}  // namespace ascend_deepep::simulator
