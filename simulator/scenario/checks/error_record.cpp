// SPDX-License-Identifier: Apache-2.0
// Layer: simulator.
#include "simulator/scenario/checks/error_record.h"

#include "simulator/scenario/checks/text.h"

namespace ascend_deepep::simulator {
namespace {

bool is_queue_stage(Stage stage) {
    return stage == Stage::kDoorbell || stage == Stage::kWqeBuilder || stage == Stage::kSend;
}

// Whom a fault makes look guilty: its rank, and the other end where it strikes a connection, a WQE or a write.
bool explains(const sim::FaultPlan& fault, const sim::Communicator& communicator, uint32_t root) {
    const uint32_t rank = communicator.rank_of(fault.rank);
    switch (fault.kind) {
        case sim::SimFault::kCoreStalls: {
            const ErrorRecord& first = communicator.arena().page(rank).record;
            return root == rank || (root == first.root && is_queue_stage(first.stage));
        }
        case sim::SimFault::kRankDies:
        case sim::SimFault::kLateProcess:
            return root == rank;
        case sim::SimFault::kLinkCut:
            return root == rank || root == communicator.rank_of(fault.peer);
        case sim::SimFault::kBadCqe:
        case sim::SimFault::kWqeLost:
        case sim::SimFault::kLateWrite:
            return root == rank || root == communicator.rank_of(fault.struck_peer);
        case sim::SimFault::kNone:
        case sim::SimFault::kLinkSlow:
        case sim::SimFault::kCount:
            return false;
    }
    return false;
}

uint64_t longest_wait(const sim::FaultPlan& fault, uint64_t timeout_ns) {
    return timeout_ns + timeout_ns / 4 + (fault.kind == sim::SimFault::kCoreStalls ? fault.ns : 0);
}

// A launch returns when all that it has written is visible (A2).
uint64_t longest_call(const sim::FaultPlan& fault, uint64_t wait_ns) {
    return wait_ns + (fault.kind == sim::SimFault::kLateWrite ? fault.ns : 0);
}

// The root has not entered the operation: the fault holds it up, or its host has left after a failure elsewhere.
bool is_behind(const sim::Communicator& communicator, uint32_t root, uint64_t sequence) {
    const ControlPage& page = communicator.arena().page(root);
    if (page.state.is_broken != 0) return page.record.sequence < sequence;
    return page.state.sequence < sequence ||
           (page.state.sequence == sequence && !communicator.rank(root).is_launched());
}

// What is missing in the record itself.
std::string incomplete(const ErrorRecord& record, uint32_t rank, uint64_t sequence, uint32_t num_ranks, Code outcome) {
    uint32_t missing = 0;
    for (uint32_t word : record.missing)
        missing += static_cast<uint32_t>(__builtin_popcount(word));
    const bool is_known = record.code == Code::kTimeout || record.code == Code::kPeerLost ||
                          record.code == Code::kBadCompletion || record.code == Code::kPeerAborted;
    if (!is_known || record.code != outcome) {
        return "code " + std::to_string(static_cast<uint32_t>(record.code)) + ", the outcome says " +
               std::to_string(static_cast<uint32_t>(outcome));
    }
    if (record.rank != rank) return "written by rank " + std::to_string(record.rank);
    if (record.sequence != sequence) return "sequence number " + std::to_string(record.sequence);
    if (record.stage == Stage::kNone || record.stage > Stage::kExit) return "no stage";
    if (record.num_missing == missing && missing <= num_ranks) return "";
    return std::to_string(record.num_missing) + " peers missing, and " + std::to_string(missing) + " named";
}

}  // namespace

std::string record_fault(const Channel& channel, const sim::World& world, uint32_t rank, uint64_t sequence,
                         uint64_t elapsed_ns, const OperationOutcome& outcome) {
    const sim::Communicator& communicator = world.communicator(channel.number);
    const ErrorRecord& record = communicator.arena().page(rank).record;
    const auto wrong = [&](const std::string& what) {
        return of_rank(rank, "record of operation " + std::to_string(sequence) + ": " + what);
    };
    const std::string missing = incomplete(record, rank, sequence, communicator.num_ranks(), outcome.code);
    if (!missing.empty()) return wrong(missing);
    const sim::FaultPlan& fault = world.fault();
    const bool is_death = fault.kind == sim::SimFault::kRankDies;
    const uint64_t wait_ns = longest_wait(fault, channel.timeout_ns);
    if (record.elapsed_cycles > wait_ns || elapsed_ns > longest_call(fault, wait_ns)) {
        return wrong("failed after " + std::to_string(elapsed_ns) + " ns, of which a wait took " +
                     std::to_string(record.elapsed_cycles) + ": beyond its deadline");
    }
    const bool is_known = record.root < communicator.num_ranks();
    if (is_known && !is_death && is_behind(communicator, record.root, sequence)) return "";
    if (explains(fault, communicator, record.root)) return "";
    return wrong("root " + std::to_string(record.root) + " (code " +
                 std::to_string(static_cast<uint32_t>(record.code)) + ", stage " +
                 std::to_string(static_cast<uint32_t>(record.stage)) + "), which the fault does not explain");
}

}  // namespace ascend_deepep::simulator
