// SPDX-License-Identifier: Apache-2.0
// Layer: simulator.
#include "simulator/scenario/outcome.h"

#include <algorithm>

#include "simulator/scenario/oracle.h"
#include "twin/sim/checks/aborts.h"

namespace ascend_deepep::simulator {
namespace {

std::string of_rank(uint32_t rank, const std::string& text) {
    return "rank " + std::to_string(rank) + ": " + text;
}

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

template <typename T>
std::string difference(const char* name, const std::vector<T>& want, const std::vector<T>& got) {
    const auto places = std::mismatch(want.begin(), want.end(), got.begin());
    if (places.first == want.end()) return "";
    return std::string(name) + "[" + std::to_string(places.first - want.begin()) + "] is " +
           std::to_string(*places.second) + ", want " + std::to_string(*places.first);
}

// The waits for a queue: they cannot tell a peer that does not answer from a core of their own rank that stands still.
bool is_queue_stage(Stage stage) {
    return stage == Stage::kDoorbell || stage == Stage::kWqeBuilder || stage == Stage::kSend;
}

// Whom a fault makes look guilty: its rank, and the other end where it strikes a connection.
bool explains(const sim::World& world, uint32_t root) {
    const sim::FaultPlan& fault = world.fault();
    const uint32_t num_ranks = world.num_ranks();
    switch (fault.kind) {
        case sim::SimFault::kCoreStalls: {
            const ErrorRecord& first = world.arena().page(fault.rank).record;
            return root == fault.rank || (root == first.root && is_queue_stage(first.stage));
        }
        case sim::SimFault::kRankDies:
        case sim::SimFault::kLateProcess:
            return root == fault.rank;
        case sim::SimFault::kLinkCut:
            return root == fault.rank || root == fault.peer;
        case sim::SimFault::kBadCqe:
        case sim::SimFault::kWqeLost:
        case sim::SimFault::kLateWrite:
            return root < num_ranks;  // any peer may be the one that the write was for
        case sim::SimFault::kNone:
        case sim::SimFault::kLinkSlow:
        case sim::SimFault::kCount:
            return false;
    }
    return false;
}

// The root had not entered the operation: held up by the fault itself, in an earlier one. Whoever misses several peers
// names the first of them.
bool is_behind(const ControlPage& root, uint64_t sequence) {
    return root.state.is_broken != 0 ? root.record.sequence < sequence : root.state.sequence < sequence;
}

}  // namespace

std::string outcome_fault(const Scenario& scenario, const sim::World& world, uint32_t rank, const Operation& operation,
                          const OperationOutcome& outcome) {
    const uint32_t code = static_cast<uint32_t>(outcome.code);
    if (outcome.code != Code::kOk && !is_refusal(outcome.code)) {
        const sim::FaultPlan& fault = world.fault();
        if (fault.has_struck && fault.is_lethal(scenario.world.timeout_ns)) return "";
        const ErrorRecord& record = world.arena().page(rank).record;
        return of_rank(rank, "operation " + std::to_string(outcome.sequence) + " failed with code " +
                                 std::to_string(code) + " and nothing explains it (stage " +
                                 std::to_string(static_cast<uint32_t>(record.stage)) + ", core " +
                                 std::to_string(record.core) + ", root " + std::to_string(record.root) + ", peer " +
                                 std::to_string(record.peer) + ", expected " + std::to_string(record.expected) +
                                 ", seen " + std::to_string(record.seen) + ")");
    }
    const Code want = expected_code(operation);
    if (outcome.code != want) {
        return of_rank(rank, "operation " + std::to_string(outcome.sequence) + " ended with code " +
                                 std::to_string(code) + ", want " + std::to_string(static_cast<uint32_t>(want)));
    }
    const uint32_t refuser = expected_refuser(operation, rank);
    if (want == Code::kOk || outcome.refusal.rank == refuser) return "";
    return of_rank(rank, "operation " + std::to_string(outcome.sequence) + " was refused by rank " +
                             std::to_string(outcome.refusal.rank) + ", want " + std::to_string(refuser));
}

std::string record_fault(const sim::World& world, uint32_t rank, uint64_t sequence, const OperationOutcome& outcome,
                         const ErrorRecord& record) {
    const uint32_t num_ranks = world.num_ranks();
    uint32_t missing = 0;
    for (uint32_t word : record.missing)
        missing += static_cast<uint32_t>(__builtin_popcount(word));
    const auto wrong = [&](const std::string& what) {
        return of_rank(rank, "record of operation " + std::to_string(sequence) + ": " + what);
    };
    const bool is_known = record.code == Code::kTimeout || record.code == Code::kPeerLost ||
                          record.code == Code::kBadCompletion || record.code == Code::kPeerAborted;
    if (!is_known || record.code != outcome.code) {
        return wrong("code " + std::to_string(static_cast<uint32_t>(record.code)) + ", the outcome says " +
                     std::to_string(static_cast<uint32_t>(outcome.code)));
    }
    if (record.rank != rank) return wrong("written by rank " + std::to_string(record.rank));
    if (record.sequence != sequence) return wrong("sequence number " + std::to_string(record.sequence));
    if (record.stage == Stage::kNone || record.stage > Stage::kExit) return wrong("no stage");
    if (record.num_missing != missing || missing > num_ranks) {
        return wrong(std::to_string(record.num_missing) + " peers missing, and " + std::to_string(missing) + " named");
    }
    if (record.elapsed_cycles > 4 * world.shared().timeout_ns) return wrong("elapsed beyond any deadline");
    if (record.root < num_ranks && is_behind(world.arena().page(record.root), sequence)) return "";
    if (explains(world, record.root)) return "";
    return wrong("root " + std::to_string(record.root) + " (code " +
                 std::to_string(static_cast<uint32_t>(record.code)) + ", stage " +
                 std::to_string(static_cast<uint32_t>(record.stage)) + "), which the fault does not explain");
}

std::string untold_fault(const sim::World& world, uint32_t rank) {
    if (!world.shared().assumptions.finished_has_landed) return "";
    const sim::FaultPlan& fault = world.fault();
    for (uint32_t peer = 0; peer < world.num_ranks(); ++peer) {
        const bool is_cut = fault.kind == sim::SimFault::kLinkCut && rank == fault.rank && peer == fault.peer;
        if (peer == rank || is_cut) continue;
        std::string text = sim::abort_fault(world.arena(), rank, peer);
        if (!text.empty()) return text;
    }
    return "";
}

std::string unheard_fault(const sim::World& world, uint32_t rank, uint64_t start_ns) {
    const ErrorRecord& record = world.arena().page(rank).record;
    // A core that stood still between its look at the abort cells and its look at the clock is excused.
    const bool has_stalled = world.fault().kind == sim::SimFault::kCoreStalls && world.fault().rank == rank;
    if (record.code != Code::kTimeout || has_stalled) return "";
    for (uint32_t peer = 0; peer < world.num_ranks(); ++peer) {
        const uint64_t told_ns = world.told_at(peer, rank);
        if (told_ns == 0) continue;
        std::string text = sim::unheard_fault(peer, rank, std::max(told_ns, start_ns), start_ns + record.elapsed_cycles,
                                              world.shared().timeout_ns / 4);
        if (!text.empty()) return text;
    }
    return "";
}

std::string dispatch_fault(const Scenario& scenario, uint32_t rank, const std::vector<Batch>& batches,
                           const DispatchResult& got) {
    const ExpectedRows want =
        expected_dispatch(batches, static_cast<int>(scenario.world.limits.num_experts), static_cast<int>(rank));
    std::string text = difference("ep_recv_counts", want.counts, got.ep_recv_counts);
    if (text.empty()) text = difference("expert_token_nums", want.token_nums, got.expert_token_nums);
    if (text.empty() && static_cast<int32_t>(got.outcome.num_rows) != want.counts.back()) text = "number of rows";
    if (text.empty()) text = difference("assist_info", want.triples, got.assist_info);
    if (text.empty()) text = difference("expand_x", want.rows, got.expand_x);
    const auto behind = got.expand_x.begin() + static_cast<int64_t>(want.rows.size());
    const bool is_clean = std::all_of(behind, got.expand_x.end(), [](uint16_t v) { return v == 0x7F7F; });
    if (text.empty() && !is_clean) text = "expand_x behind the rows was written";
    return text.empty() ? "" : of_rank(rank, "dispatch: " + text);
}

std::string combine_fault(uint32_t rank, const Batch& batch, const CombineResult& got) {
    const std::string text = difference("x", expected_combine(batch), got.x);
    return text.empty() ? "" : of_rank(rank, "combine: " + text);
}

std::string leftover_fault(uint32_t rank, const DispatchResult& got) {
    const auto is_zero = [](auto v) { return v == 0; };
    if (std::all_of(got.ep_recv_counts.begin(), got.ep_recv_counts.end(), is_zero) &&
        std::all_of(got.expert_token_nums.begin(), got.expert_token_nums.end(), is_zero)) {
        return "";
    }
    return of_rank(rank, "counts are not zero after a dispatch that gave nothing");
}

}  // namespace ascend_deepep::simulator
