// SPDX-License-Identifier: Apache-2.0
//
// Checks that both operators share: tensors one by one, attributes, batch, row sizes. Layer: op_host.
// The limits are those of docs/compatibility.md, the rules those of the operators' contract, section 5.
#include <algorithm>
#include <limits>

#include "op_host/arguments.h"
#include "op_host/check_rows.h"
#include "op_host/comm_alg.h"
#include "op_host/messages.h"

namespace ascend_deepep::op_host {
namespace {

using Context = CheckContext;
constexpr int64_t kMaxInt32 = std::numeric_limits<int32_t>::max();

// Attributes with an interval of their own, whatever the communicator.
struct IntervalRow {
    Field field;
    int64_t CommonAttributes::* value;
    int64_t highest;
};
constexpr IntervalRow kIntervals[] = {
    {Field::kTpWorldSize, &CommonAttributes::tp_world_size, 1},
    {Field::kTpRankId, &CommonAttributes::tp_rank_id, 0},
    {Field::kExpertShardType, &CommonAttributes::expert_shard_type, 0},
    {Field::kSharedExpertNum, &CommonAttributes::shared_expert_num, kMaxSharedExperts},
};

Refusal check_intervals(const CommonAttributes& a) {
    for (const IntervalRow& row : kIntervals) {
        const int64_t value = a.*row.value;
        if (value < find_number(row.field)->lowest || value > row.highest) {
            return make_refusal(row.field, Code::kOutOfRange, value, row.highest);
        }
    }
    return Refusal{};
}

Finding outside(int64_t value, int64_t lowest, int64_t highest) {
    return {value < lowest || value > highest, value, highest};
}

int64_t moe_ranks(const Context& c) {
    return c.attributes.ep_world_size - c.attributes.shared_expert_rank_num;
}

int64_t special_experts(const CommonAttributes& a) {
    return a.zero_expert_num + a.copy_expert_num + a.const_expert_num;
}

Finding bad_comm_alg(const Context& c) {
    Refusal packed{};
    pack_word(c.attributes.comm_alg, &packed);
    return {find_comm_alg(c.attributes.comm_alg)->code != Code::kOk, packed.got, packed.limit};
}

constexpr CheckRow<Context> kTopology[] = {
    {Field::kEpWorldSize, Code::kNotEqual,
     [](const Context& c) -> Finding {
         return {c.attributes.ep_world_size != c.limits.num_ranks, c.attributes.ep_world_size, c.limits.num_ranks};
     }},
    {Field::kEpRankId, Code::kNotEqual,
     [](const Context& c) -> Finding { return {c.attributes.ep_rank_id != c.rank, c.attributes.ep_rank_id, c.rank}; }},
    // Where no communicator says which rank this is: the kernels that infer shapes.
    {Field::kEpRankId, Code::kOutOfRange,
     [](const Context& c) { return outside(c.attributes.ep_rank_id, 0, c.attributes.ep_world_size - 1); }},
    {Field::kGroupTp, Code::kOutOfRange,
     [](const Context& c) { return outside(int64_t(c.attributes.group_tp.size()), 0, kMaxNameLength); }},
    {Field::kSharedExpertRankNum, Code::kOutOfRange,
     [](const Context& c) { return outside(c.attributes.shared_expert_rank_num, 0, c.limits.num_ranks - 1); }},
    // The pair (1, 0) means no shared expert, and so does (0, 0).
    {Field::kSharedExpertNum, Code::kTooSmall,
     [](const Context& c) -> Finding {
         const CommonAttributes& a = c.attributes;
         return {a.shared_expert_num == 0 && a.shared_expert_rank_num > 0, a.shared_expert_num, 1};
     }},
    {Field::kSharedExpertRankNum, Code::kTooSmall,
     [](const Context& c) -> Finding {
         const int64_t ranks = c.attributes.shared_expert_rank_num;
         return {ranks < c.geometry.shared_expert_num, ranks, c.geometry.shared_expert_num};
     }},
    {Field::kSharedExpertRankNum, Code::kNotMultiple,
     [](const Context& c) -> Finding {
         const int64_t ranks = c.attributes.shared_expert_rank_num;
         const int64_t experts = c.geometry.shared_expert_num;
         return {experts > 0 && ranks % experts != 0, ranks, experts};
     }},
    {Field::kSharedExpertNum, Code::kOutOfRange,
     [](const Context& c) { return outside(c.geometry.shared_expert_num, 0, c.limits.shared_expert_num); }},
    {Field::kMoeExpertNum, Code::kOutOfRange,
     [](const Context& c) { return outside(c.attributes.moe_expert_num, 1, c.limits.num_experts); }},
    {Field::kMoeExpertNum, Code::kNotMultiple,
     [](const Context& c) -> Finding {
         return {c.attributes.moe_expert_num % moe_ranks(c) != 0, c.attributes.moe_expert_num, moe_ranks(c)};
     }},
    // Blocks of (local expert, source rank) have a table in UB.
    {Field::kMoeExpertNum, Code::kOutOfRange,
     [](const Context& c) {
         const int64_t most = kMaxBlocksPerRank / c.limits.num_ranks * moe_ranks(c);
         return outside(c.attributes.moe_expert_num, 1, most);
     }},
    // Ids of special experts follow those of the routed ones and must fit the 32 bits of an id.
    {Field::kZeroExpertNum, Code::kOutOfRange,
     [](const Context& c) {
         return outside(c.attributes.zero_expert_num, 0, kMaxInt32 - c.attributes.moe_expert_num);
     }},
    {Field::kCopyExpertNum, Code::kOutOfRange,
     [](const Context& c) {
         const CommonAttributes& a = c.attributes;
         return outside(a.copy_expert_num, 0, kMaxInt32 - a.moe_expert_num - a.zero_expert_num);
     }},
    {Field::kConstExpertNum, Code::kOutOfRange,
     [](const Context& c) {
         const CommonAttributes& a = c.attributes;
         return outside(a.const_expert_num, 0, kMaxInt32 - a.moe_expert_num - a.zero_expert_num - a.copy_expert_num);
     }},
    {Field::kCommAlg, Code::kOutOfRange, bad_comm_alg},
};

constexpr CheckRow<Context> kSizes[] = {
    {Field::kNumTokens, Code::kOutOfRange,
     [](const Context& c) { return outside(c.geometry.num_tokens, 0, c.limits.max_tokens); }},
    {Field::kHidden, Code::kOutOfRange,
     [](const Context& c) { return outside(c.geometry.hidden, kMinHidden, c.limits.hidden); }},
    {Field::kHidden, Code::kNotMultiple,
     [](const Context& c) -> Finding {
         return {c.geometry.hidden % kHiddenMultiple != 0, c.geometry.hidden, kHiddenMultiple};
     }},
    {Field::kNumTopk, Code::kOutOfRange,
     [](const Context& c) {
         const int64_t experts = c.attributes.moe_expert_num + special_experts(c.attributes);
         return outside(c.geometry.num_topk, 1, std::min<int64_t>(c.limits.num_topk, experts));
     }},
    {Field::kGlobalBs, Code::kTooSmall,
     [](const Context& c) -> Finding {
         const int64_t least = c.geometry.num_tokens * c.attributes.ep_world_size;
         return {c.attributes.global_bs != 0 && c.attributes.global_bs < least, c.attributes.global_bs, least};
     }},
    {Field::kGlobalBs, Code::kOutOfRange,
     [](const Context& c) {
         return outside(c.attributes.global_bs, 0, int64_t(c.limits.max_tokens) * c.limits.num_ranks);
     }},
    {Field::kGlobalBs, Code::kNotMultiple,
     [](const Context& c) -> Finding {
         const CommonAttributes& a = c.attributes;
         return {a.global_bs % a.ep_world_size != 0, a.global_bs, a.ep_world_size};
     }},
};

constexpr CheckRow<Context> kLater[] = {
    {Field::kZeroExpertNum, Code::kNotImplemented,
     [](const Context& c) -> Finding { return {c.attributes.zero_expert_num > 0, c.attributes.zero_expert_num, 0}; }},
    {Field::kCopyExpertNum, Code::kNotImplemented,
     [](const Context& c) -> Finding { return {c.attributes.copy_expert_num > 0, c.attributes.copy_expert_num, 0}; }},
    {Field::kConstExpertNum, Code::kNotImplemented,
     [](const Context& c) -> Finding { return {c.attributes.const_expert_num > 0, c.attributes.const_expert_num, 0}; }},
};

}  // namespace

bool is_given(const TensorInfo& tensor) {
    return tensor.is_present && !tensor.shape.empty() && num_elements(tensor) > 0;
}

Finding compare_extent(const TensorInfo& tensor, size_t axis, int64_t expected) {
    return {is_given(tensor) && axis < tensor.shape.size() && tensor.shape[axis] != expected, extent(tensor, axis),
            expected};
}

Finding mask_of_unequal_batches(const CheckContext& c, const TensorInfo& mask) {
    const int64_t equal = size_product(c.geometry.num_tokens, c.attributes.ep_world_size);
    return {is_given(mask) && c.attributes.global_bs > equal, c.attributes.global_bs, equal};
}

Finding compare_table_extent(const TensorInfo& tensor, size_t axis, int64_t expected) {
    return {is_passed(tensor) && extent(tensor, axis) != expected, extent(tensor, axis), expected};
}

Refusal check_tensor(Field field, const TensorInfo& tensor, TensorDevice device, bool is_required) {
    if (!is_required && !is_given(tensor)) return Refusal{};
    const TensorArgument& argument = *find_tensor(field);
    const auto dims = static_cast<uint32_t>(tensor.is_present ? tensor.shape.size() : 0);
    if (tensor.is_present && (argument.dtypes & dtype_bit(tensor.dtype)) == 0) {
        return make_refusal(field, Code::kBadDtype, static_cast<int64_t>(tensor.dtype), 0);
    }
    if (dims < argument.min_dims || dims > argument.max_dims) {
        return make_refusal(field, Code::kBadRankOfTensor, dims, argument.max_dims);
    }
    if (tensor.device != device) {
        return make_refusal(field, Code::kBadDevice, device_code(tensor.device), device_code(device));
    }
    if (tensor.requires_grad) return make_refusal(field, Code::kRequiresGrad, 0, 0);
    return Refusal{};
}

Refusal check_common(const CheckContext& context) {
    Refusal refusal = check_intervals(context.attributes);
    if (refusal.code == Code::kOk) refusal = run_rows(kTopology, context);
    if (refusal.code == Code::kOk) refusal = run_rows(kSizes, context);
    return refusal;
}

Refusal check_common_features(const CheckContext& context) {
    return run_rows(kLater, context);
}

Status make_status(Refusal refusal, OperationKind kind, uint32_t rank) {
    Status status;
    if (refusal.code == Code::kOk) return status;
    refusal.rank = rank;
    status.refusal = refusal;
    status.message = describe(refusal, kind, rank);
    return status;
}

}  // namespace ascend_deepep::op_host
