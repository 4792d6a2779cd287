// SPDX-License-Identifier: Apache-2.0
//
// What can go wrong: codes, arguments, stages, and the error record of an operation. Layer: contract.
// Texts are rendered by op_host/messages from these numbers, the same on the rank that failed and on its peers.
#ifndef ASCEND_DEEPEP_CONTRACT_STATUS_H
#define ASCEND_DEEPEP_CONTRACT_STATUS_H

#include "contract/limits.h"

namespace ascend_deepep {

enum class Code : uint32_t {
    kOk = 0,
    // Refusals: the rank that made the call raises ArgumentError, its peers raise Mismatch; the communicator lives on.
    kBadDtype,         // argument, got (dtype), limit (dtype)
    kBadShape,         // argument, got, limit (expected size)
    kBadRankOfTensor,  // argument, got (dimensions), limit (dimensions)
    kBadDevice,        // argument
    kOutOfRange,       // argument, got, limit (largest legal)
    kTooSmall,         // argument, got, limit (smallest legal)
    kNotMultiple,      // argument, got, limit (divisor)
    kNotEqual,         // argument, got, limit (the communicator's value)
    kNotImplemented,   // argument: feature of a later release
    kBadExpertId,      // expert_ids[token, column] = got, limit = number of experts
    kDuplicateExpert,  // expert_ids[token, column] = got, second time in the row
    kForeignTriples,   // assist_info_for_combine is not from a dispatch of this communicator
    kOtherIds,         // expert_ids are not those that were dispatched
    kBadTriple,        // assist_info_for_combine row token: got, limit
    kBadCounts,        // ep_send_counts[token] = got, limit
    kRequiresGrad,     // argument
    kMissing,          // argument; limit: the argument (Field) that needs it, got: its value
    kUnexpected,       // argument; limit: the argument (Field) that excludes it, got: its value
    kSignature,        // this rank and a peer made different calls: argument is the field, got the peer's, limit ours
    // Failures: the communicator is broken.
    kTimeout,        // a wait ran past its deadline
    kPeerLost,       // a peer's process is gone
    kBadCompletion,  // a CQE with an error status: got = status << 8 | substatus
    kCorruptBlock,   // a block carried the right tag and impossible contents
    kPeerAborted,    // a peer failed first: its record names the root
    kQueueFault,     // the engine refused a WQE or an index is impossible
};

constexpr bool is_refusal(Code code) {
    return code > Code::kOk && code < Code::kTimeout;
}

// The argument or field a code speaks of.
enum class Field : uint32_t {
    kNone = 0,
    kX,
    kExpertIds,
    kExpandX,
    kAssistInfo,
    kEpSendCounts,
    kExpertScales,
    kGroupEp,
    kEpWorldSize,
    kEpRankId,
    kMoeExpertNum,
    kGlobalBs,
    kNumTokens,
    kHidden,
    kNumTopk,
    kExpertTokenNumsType,
    kTpWorldSize,
    kTpRankId,
    kExpertShardType,
    kSharedExpertNum,
    kSharedExpertRankNum,
    kQuantMode,
    kCommQuantMode,
    kCommAlg,
    kScales,
    kXActiveMask,
    kElasticInfo,
    kPerformanceInfo,
    kExpandScales,
    kSharedExpertX,
    kOriX,
    kConstExpertAlpha1,
    kConstExpertAlpha2,
    kConstExpertV,
    kZeroExpertNum,
    kCopyExpertNum,
    kConstExpertNum,
    kYDtype,
    kXDtype,
    kScalesDtype,
    kTpSendCounts,
    kGroupTp,
    kKind,
    kDispatchNumber,  // which dispatch a combine belongs to
    kLayoutAbi,
    kOutDtype,
    kCopyMode,
    kScalesKind,
    kHasExpertScales,
    kCombineReduce,
    kCount
};

// Who waited, or for what: the stage of an error record.
enum class Stage : uint32_t {
    kNone = 0,
    kEntry,       // reading the tiling data and the control page
    kRoute,       // stage cores and builders waiting for the routing table
    kStage,       // the staged frontier
    kWqeBuilder,  // ring space
    kDoorbell,    // WQEs and completions
    kCumsum,      // control messages of peers
    kPrefix,      // partial sums of other cumsum cores
    kCollect,     // token blocks
    kSend,        // combine: validation before the first row, staging ring space
    kReduce,      // combine: rows of a token
    kControl,     // combine: control messages of peers
    kExit
};

// One refusal, as posted in control messages. 40 B.
struct Refusal {
    Code code;
    Field field;
    uint32_t token;  // row of expert_ids, or row of the triples
    uint32_t column;
    int64_t got;
    int64_t limit;
    uint32_t rank;  // who refused, or differs
    uint32_t echo;  // 0, or which earlier operation's refusal this one passes on (devices): see make_echo()
};
static_assert(sizeof(Refusal) == 40, "wire struct");

// A device's host learns of a refusal late, and its next call passes it on: the rank that refused first, and the low
// bits of its operation's number. Never 0.
constexpr uint32_t kEchoRankBits = 10;
static_assert(kMaxRanks <= 1U << kEchoRankBits, "a rank fits");
constexpr uint32_t make_echo(uint32_t rank, uint64_t sequence) {
    return (1U << 31) | ((static_cast<uint32_t>(sequence) << kEchoRankBits) & ~(1U << 31)) | rank;
}
constexpr uint32_t echo_rank(uint32_t echo) {
    return echo & ((1U << kEchoRankBits) - 1);
}

constexpr uint32_t kMissingWords = kMaxRanks / 32;

// Why an operation failed. Written once, by the first core to fail; posted to all peers in an abort message. 224 B.
struct ErrorRecord {
    Code code;
    Stage stage;
    uint32_t rank;  // who wrote the record
    uint32_t root;  // who is to blame
    uint64_t sequence;
    uint64_t expected;  // tag, flag or count waited for
    uint64_t seen;
    uint64_t elapsed_cycles;
    uint32_t core;
    uint32_t kind;         // OperationKind
    uint32_t peer;         // peer, queue or block the wait was for
    uint32_t num_missing;  // peers whose control message was not seen
    uint32_t missing[kMissingWords];
    int64_t got;  // status of a CQE, index out of range
    int64_t limit;
    uint64_t reserved[2];
};
static_assert(sizeof(ErrorRecord) == 224, "wire struct");

}  // namespace ascend_deepep

#endif  // ASCEND_DEEPEP_CONTRACT_STATUS_H
