// SPDX-License-Identifier: Apache-2.0
//
// The tables of arguments. Layer: op_host. Sources: the operators' contract, sections 1, 2, 5 and 9.
#include "op_host/arguments.h"

#include "op_host/messages.h"
#include "op_host/text.h"

namespace ascend_deepep::op_host {
namespace {

constexpr uint32_t kHalfFloats = dtype_bit(Dtype::kBf16) | dtype_bit(Dtype::kFp16);
// Quantised tokens pass through; bytes carry a type that x_dtype or scales_dtype names.
constexpr uint32_t kTokenDtypes =
    kHalfFloats | dtype_bit(Dtype::kE4m3) | dtype_bit(Dtype::kE5m2) | dtype_bit(Dtype::kUint8);
constexpr uint32_t kScaleDtypes = dtype_bit(Dtype::kFp32) | dtype_bit(Dtype::kE8m0) | dtype_bit(Dtype::kUint8);

constexpr TensorArgument kTensors[] = {
    {Field::kX, kTokenDtypes, 2, 2, "[num_tokens, hidden]"},
    {Field::kExpertIds, dtype_bit(Dtype::kInt32), 2, 2, "[num_tokens, num_topk]"},
    {Field::kExpandX, kHalfFloats, 2, 2, "[rows, hidden], with the rows that dispatch_v2 returned"},
    {Field::kAssistInfo, dtype_bit(Dtype::kInt32), 1, 1, "[128 * rows], as dispatch_v2 returned it"},
    {Field::kEpSendCounts, dtype_bit(Dtype::kInt32), 1, 1,
     "[ep_world_size * local experts], the ep_recv_counts that dispatch_v2 returned"},
    {Field::kExpertScales, dtype_bit(Dtype::kFp32), 2, 2,
     "[num_tokens, num_topk], or a tensor without elements for a plain sum"},
    {Field::kScales, kScaleDtypes, 1, 2,
     "[moe_expert_num (+ shared_expert_num where ranks serve shared experts), hidden]; static "
     "also [1] or [hidden]; of quantised x [num_tokens, columns]"},
    {Field::kXActiveMask, dtype_bit(Dtype::kBool), 1, 2, "[num_tokens] or [num_tokens, num_topk]"},
    {Field::kElasticInfo, dtype_bit(Dtype::kInt32), 1, 1, "[4 + 2 * ep_world_size]"},
    {Field::kPerformanceInfo, dtype_bit(Dtype::kInt64), 1, 1, "[ep_world_size]"},
    {Field::kExpandScales, dtype_bit(Dtype::kFp32), 1, 1, "[rows], as dispatch_v2 returned it"},
    {Field::kSharedExpertX, kHalfFloats, 2, 3, "[num_tokens, hidden], or [a, b, hidden] with a * b = num_tokens"},
    {Field::kOriX, kHalfFloats, 2, 2, "[num_tokens, hidden]"},
    {Field::kConstExpertAlpha1, kHalfFloats, 2, 2, "[const_expert_num, hidden]"},
    {Field::kConstExpertAlpha2, kHalfFloats, 2, 2, "[const_expert_num, hidden]"},
    {Field::kConstExpertV, kHalfFloats, 2, 2, "[const_expert_num, hidden]"},
    {Field::kTpSendCounts, dtype_bit(Dtype::kInt32), 1, 1, "[tp_world_size], as dispatch_v2 returned it"},
};

constexpr const char* kPassZero = "pass 0";
constexpr const char* kLeaveOut = "leave it out";

constexpr NumberArgument kNumbers[] = {
    {Field::kEpWorldSize, 1, nullptr, "pass the communicator's num_ranks", nullptr},
    {Field::kEpRankId, 0, nullptr, "pass this process's rank in the communicator", nullptr},
    {Field::kMoeExpertNum, 1, nullptr,
     "use a multiple of the ranks that hold routed experts, at most the communicator's num_experts", nullptr},
    {Field::kGlobalBs, 0, nullptr,
     "pass ep_world_size times the largest batch of any rank, at most ep_world_size * max_tokens of the communicator, "
     "or 0 when all batches are equal",
     nullptr},
    {Field::kNumTokens, 0, nullptr, "send fewer tokens a call, or make the communicator with a larger max_tokens",
     nullptr},
    {Field::kHidden, kMinHidden, nullptr, "use a multiple of 16, at most the communicator's hidden", nullptr},
    {Field::kNumTopk, 1, nullptr, "use at most the communicator's num_topk and at most moe_expert_num", nullptr},
    {Field::kExpertTokenNumsType, 0, "0 (prefix sums), 1 (counts)", "pass one of them", nullptr},
    {Field::kTpWorldSize, 0, nullptr, "pass 0: the operator has no tensor parallelism of its own", nullptr},
    {Field::kTpRankId, 0, nullptr, kPassZero, nullptr},
    {Field::kGroupTp, 0, nullptr, "leave it empty: the operator has no tensor parallelism of its own", nullptr},
    {Field::kExpertShardType, 0, nullptr, "pass 0: ranks of shared experts come first", nullptr},
    {Field::kSharedExpertNum, 0, nullptr,
     "pass 0 without shared_expert_rank_num, else 1 to 4, at most the communicator's shared_expert_num", nullptr},
    {Field::kSharedExpertRankNum, 0, nullptr,
     "pass 0 and at most one shared expert, or a multiple of shared_expert_num below ep_world_size", nullptr},
    {Field::kQuantMode, 0, "0, 1, 2, 3, 4, 5", "pass one of them", kPassZero},
    {Field::kCommQuantMode, 0, "0, 2, 3, 4", "pass one of them", kPassZero},
    {Field::kZeroExpertNum, 0, nullptr, kPassZero, kPassZero},
    {Field::kCopyExpertNum, 0, nullptr, kPassZero, kPassZero},
    {Field::kConstExpertNum, 0, nullptr, kPassZero, kPassZero},
    {Field::kYDtype, 0, nullptr, "pass torch.float8_e4m3fn or torch.float8_e5m2", kLeaveOut},
    {Field::kXDtype, 0, nullptr, "pass torch.float8_e4m3fn or torch.float8_e5m2", kLeaveOut},
    {Field::kScalesDtype, 0, nullptr, "pass torch.float8_e8m0fnu", kLeaveOut},
};

template <typename Argument, size_t kCount>
const Argument* find(const Argument (&table)[kCount], Field field) {
    for (const Argument& argument : table) {
        if (argument.field == field) return &argument;
    }
    return nullptr;
}

}  // namespace

const TensorArgument* find_tensor(Field field) {
    return find(kTensors, field);
}
const NumberArgument* find_number(Field field) {
    return find(kNumbers, field);
}

std::string legal_dtypes(const TensorArgument& argument) {
    std::string list;
    for (uint32_t code = 1; code <= static_cast<uint32_t>(Dtype::kOther); ++code) {
        const auto dtype = static_cast<Dtype>(code);
        if ((argument.dtypes & dtype_bit(dtype)) == 0 || dtype == Dtype::kOther) continue;
        if (!list.empty()) list += " or ";
        list += dtype_name(dtype);
    }
    return list;
}

std::string legal_dims(const TensorArgument& argument) {
    return argument.min_dims == argument.max_dims ? text(argument.min_dims)
                                                  : text(argument.min_dims, " or ", argument.max_dims);
}

}  // namespace ascend_deepep::op_host
