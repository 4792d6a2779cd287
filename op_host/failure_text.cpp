// SPDX-License-Identifier: Apache-2.0
//
// Texts of failures: time-outs, lost peers, bad completions. Layer: op_host.
// All begin with operation, number and rank, and end with what to look at.
#include <iomanip>

#include "contract/arch35/cqe.h"
#include "op_host/messages.h"
#include "op_host/text.h"

namespace ascend_deepep::op_host {
namespace {

constexpr uint32_t kListedRanks = 8;

struct StageHint {
    Stage stage;
    const char* hint;  // what to look at when a wait in this stage runs out
};

constexpr const char* kPeerHint =
    "look whether that rank runs and issues the same operations; if it is only slow, raise timeout_ms or "
    "ASCEND_DEEPEP_TIMEOUT_MS";
constexpr const char* kCoreHint = "a core of this rank stands still: call Communicator.progress() from another thread";
constexpr const char* kQueueHint = "look at that rank's queue: work was posted to it and no completion came";
constexpr const char* kDataHint =
    "its control message came and its data did not: look at that rank's own error and at the fabric between the two";

constexpr StageHint kHints[] = {
    {Stage::kEntry, kCoreHint},       {Stage::kRoute, kCoreHint},     {Stage::kStage, kCoreHint},
    {Stage::kWqeBuilder, kQueueHint}, {Stage::kDoorbell, kQueueHint}, {Stage::kCumsum, kPeerHint},
    {Stage::kPrefix, kCoreHint},      {Stage::kCollect, kDataHint},   {Stage::kSend, kCoreHint},
    {Stage::kReduce, kDataHint},      {Stage::kControl, kPeerHint},   {Stage::kExit, kCoreHint},
};

const char* stage_hint(Stage stage) {
    for (const StageHint& row : kHints) {
        if (row.stage == stage) return row.hint;
    }
    return "look at that rank's own error";
}

const char* completion_name(uint32_t status) {
    switch (static_cast<CqeStatus>(status)) {
        case CqeStatus::kOk:
            return "no error";
        case CqeStatus::kLocalAccess:
            return "local access error";
        case CqeStatus::kRemoteAccess:
            return "remote access error";
        case CqeStatus::kBadToken:
            return "bad token";
        case CqeStatus::kBadWqe:
            return "bad work queue element";
        case CqeStatus::kLost:
            return "peer lost";
    }
    return "unknown error";
}

// "; no control message from ranks 2, 5": the first few of a set that may hold a thousand.
std::string missing_ranks(const ErrorRecord& r) {
    if (r.num_missing == 0) return "";
    std::string list;
    uint32_t listed = 0;
    for (uint32_t rank = 0; rank < kMaxRanks && listed < kListedRanks; ++rank) {
        if (((r.missing[rank / 32] >> (rank % 32)) & 1U) == 0) continue;
        list += text(listed == 0 ? "" : ", ", rank);
        ++listed;
    }
    const uint32_t more = r.num_missing > listed ? r.num_missing - listed : 0;
    return text("; no control message from ", r.num_missing == 1 ? "rank " : "ranks ", list,
                more == 0 ? "" : text(" and ", more, " more"));
}

// "in collect, 0.3 s of 30.0 s"
std::string waited(const ErrorRecord& r, double seconds, double limit_seconds) {
    return text("in ", stage_name(r.stage), ", ", std::fixed, std::setprecision(1), seconds, " s of ", limit_seconds,
                " s");
}

std::string seen(const ErrorRecord& r) {
    return text(" (core ", r.core, " expected 0x", std::hex, r.expected, ", saw 0x", r.seen, ")");
}

std::string who(uint32_t rank, uint32_t own_rank) {
    return rank == own_rank ? text("rank ", rank, " (itself)") : text("rank ", rank);
}

// A failure of another rank, heard of from `r.peer`, which may have heard of it itself: who saw it first is not known.
std::string passed_on(const ErrorRecord& r, uint32_t own_rank, const std::string& time) {
    const auto origin = static_cast<Code>(r.got);
    const std::string heard = text(", heard from rank ", r.peer, " ", time, missing_ranks(r), ": ");
    if (origin == Code::kTimeout) {
        return text("time-out of another rank waiting for ", who(r.root, own_rank), heard,
                    r.root == own_rank ? "what it sent did not arrive in time; look at the errors of the other ranks"
                                       : kPeerHint);
    }
    if (is_refusal(origin) || origin == Code::kOk || origin == Code::kPeerAborted) {
        if (r.root == own_rank) return text("stopped by this rank itself ", time, ": look at its first error");
        return text("rank ", r.root, " was stopped or failed first", heard, "look at the error of rank ", r.root);
    }
    return text(code_name(origin), " between another rank and ", who(r.root, own_rank), heard,
                "look at the errors of the other ranks, and at the queue between the two");
}

std::string what(const ErrorRecord& r, uint32_t own_rank, const std::string& time) {
    const std::string root = who(r.root, own_rank);
    switch (r.code) {
        case Code::kTimeout:
            return text("time-out waiting for ", root, " ", time, seen(r), missing_ranks(r), ": ",
                        r.num_missing != 0 ? kPeerHint : stage_hint(r.stage));
        case Code::kPeerLost:
            return text("peer lost: the process of rank ", r.root, " is gone or closed its communicator, noticed ",
                        time, missing_ranks(r), ": look at the log and the exit status of rank ", r.root,
                        " (out of memory, a signal?)");
        case Code::kBadCompletion: {
            const auto status = static_cast<uint32_t>(r.got) >> 8;
            const auto substatus = static_cast<uint32_t>(r.got) & 0xFFU;
            return text("bad completion from the queue to rank ", r.peer, ": status ", status, " (",
                        completion_name(status), "), substatus ", substatus, ", ", time,
                        ": look at the window and the state of rank ", r.peer);
        }
        case Code::kCorruptBlock:
            return text("corrupt block from rank ", r.peer,
                        ": it carries this operation's tag and the impossible value ", r.got, " (limit ", r.limit,
                        "), ", time, ": look at the fabric; nothing but the sender may write a window");
        case Code::kPeerAborted:
            return passed_on(r, own_rank, time);
        case Code::kQueueFault:
            return text("queue to rank ", r.peer, " is out of step: index ", r.got, ", limit ", r.limit, ", ", time,
                        ": nothing else may post to this communicator's queues");
        default:
            return text(code_name(r.code), " ", time, ": look at rank ", r.root);
    }
}

}  // namespace

std::string describe(const ErrorRecord& record, uint32_t own_rank, double seconds, double limit_seconds) {
    const std::string origin = record.rank == own_rank ? "" : text(" (reported by rank ", record.rank, ")");
    return text(kind_name(static_cast<OperationKind>(record.kind)), " number ", record.sequence, " on rank ", own_rank,
                origin, ": ", what(record, own_rank, waited(record, seconds, limit_seconds)),
                "; the communicator is broken, close it and make a new one");
}

}  // namespace ascend_deepep::op_host
