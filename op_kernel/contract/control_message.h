// SPDX-License-Identifier: Apache-2.0
//
// The one control message of an operation and peer, and the call signature it carries. Layer: contract.
// docs/protocol.md, "Control messages".
#ifndef ASCEND_DEEPEP_CONTRACT_CONTROL_MESSAGE_H
#define ASCEND_DEEPEP_CONTRACT_CONTROL_MESSAGE_H

#include "contract/block.h"
#include "contract/status.h"

namespace ascend_deepep {

enum class OperationKind : uint32_t { kDispatch = 1, kCombine = 2 };
constexpr uint32_t kNumKinds = 2;
constexpr uint32_t kind_index(OperationKind kind) {
    return static_cast<uint32_t>(kind) - 1;
}

enum class Dtype : uint32_t {
    kBf16 = 1,
    kFp16 = 2,
    kFp32,
    kInt32,
    kInt64,
    kInt16,
    kInt8,
    kUint8,
    kBool,
    kFp64,
    kE4m3,  // float8_e4m3fn
    kE5m2,  // float8_e5m2
    kE8m0,  // float8_e8m0fnu
    kOther
};

// How many copies of a token travel.
enum class CopyMode : uint32_t {
    kPerRank = 0,   // one to each rank that needs it
    kPerExpert = 1  // one for each (token, expert)
};

// What a rank returns of a token that several of its experts have worked on.
enum class CombineReduce : uint32_t {
    kRow = 0,  // each expert's row
    kRank = 1  // their sum, a partial
};

// What the scales of a dispatch are.
enum class ScalesKind : uint32_t {
    kNone = 0,
    kScalar = 1,   // one for all
    kChannel = 2,  // one for each element of a row
    kExpert = 3,   // a row for each expert
    kRows = 4      // a row for each token, which travels with it
};
// One word of the signature: kind, dtype, and of kRows the columns.
constexpr uint32_t pack_scales(ScalesKind kind, Dtype dtype, uint32_t columns) {
    return static_cast<uint32_t>(kind) | (static_cast<uint32_t>(dtype) << 4) | (columns << 12);
}

// What all ranks must agree on in one call. Compared field by field, so that a difference can be named.
struct CallSignature {
    uint32_t kind;
    uint32_t hidden;
    uint32_t num_topk;
    uint32_t num_experts;
    uint32_t shared_expert_num;
    uint32_t quant_mode;
    uint32_t x_dtype;
    uint32_t out_dtype;
    uint32_t max_tokens;  // M: global_bs / ep_world_size, or the number of tokens with global_bs = 0
    uint32_t layout_abi;
    uint32_t dispatch_low;  // combine: sequence number of its dispatch
    uint32_t dispatch_high;
    uint32_t shared_expert_rank_num;
    uint32_t copy_mode;          // dispatch: CopyMode
    uint32_t scales;             // dispatch: pack_scales()
    uint32_t has_expert_scales;  // dispatch: weights travel; combine by rank: partials are weighted
};
static_assert(sizeof(CallSignature) == 64, "wire struct");
constexpr uint32_t kSignatureWords = sizeof(CallSignature) / sizeof(uint32_t);

// Which field a difference in word `word` of the signature is.
constexpr Field signature_field(uint32_t word) {
    constexpr Field kFields[kSignatureWords] = {Field::kKind,
                                                Field::kHidden,
                                                Field::kNumTopk,
                                                Field::kMoeExpertNum,
                                                Field::kSharedExpertNum,
                                                Field::kQuantMode,
                                                Field::kXDtype,
                                                Field::kOutDtype,
                                                Field::kNumTokens,
                                                Field::kLayoutAbi,
                                                Field::kDispatchNumber,
                                                Field::kDispatchNumber,
                                                Field::kSharedExpertRankNum,
                                                Field::kCopyMode,
                                                Field::kScalesKind,
                                                Field::kHasExpertScales};
    return kFields[word];
}

// Followed by `rows per local expert of the receiver` (u32 each), zero for combine and for a refusal.
struct ControlHeader {
    uint64_t tag;
    uint32_t num_tokens;
    uint32_t num_copies;  // token copies this rank sends the receiver
    CallSignature signature;
    uint64_t consumed[kNumKinds];  // by kind: uses of its halves that the sender has finished reading
    Refusal refusal;               // code kOk: none
    uint64_t reserved[3];
};
static_assert(sizeof(ControlHeader) == 160 && sizeof(ControlHeader) % kUnitBytes == 0, "wire struct");

// Slots of the control ring of one source: an operation's message may be overwritten four operations later.
constexpr uint32_t kControlSlots = 4;

constexpr uint32_t control_blocks(uint32_t local_experts) {
    return blocks_for(sizeof(ControlHeader) + uint64_t(local_experts) * sizeof(uint32_t));
}

static_assert(sizeof(ErrorRecord) <= kBlockDataBytes, "an abort message is one block");

}  // namespace ascend_deepep

#endif  // ASCEND_DEEPEP_CONTRACT_CONTROL_MESSAGE_H
