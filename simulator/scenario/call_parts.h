// SPDX-License-Identifier: Apache-2.0
// Operator calls over vectors, for ranks that launch kernels without a communicator: what the host says of the tensors,
// where they are, and the outputs before the call. Layer: simulator.
#pragma once

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include "op_host/calls.h"
#include "op_host/quant.h"
#include "op_host/tiling.h"
#include "simulator/scenario/batch.h"
#include "twin/fabric/fabric.h"

namespace ascend_deepep::simulator {

// What outputs hold before a call.
constexpr uint8_t kPoisonByte = 0x7F;
constexpr uint16_t kPoisonRow = 0x7F7F;
constexpr int32_t kPoisonWord = 0x7F7F7F7F;
constexpr float kPoisonFloat = std::bit_cast<float>(kPoisonWord);
constexpr int64_t kPoisonCount = -7;

// `shift`: elements of the vector that the kernel is not to see.
template <typename T>
uint64_t address(const std::vector<T>& data, uint32_t shift = 0) {
    return data.empty() ? 0 : reinterpret_cast<uint64_t>(data.data() + shift);
}
inline uint64_t address(const void* p) {
    return reinterpret_cast<uint64_t>(p);
}

inline op_host::TensorInfo tensor(Dtype dtype, std::vector<int64_t> shape) {
    op_host::TensorInfo info;
    info.is_present = true;
    info.dtype = dtype;
    info.shape = std::move(shape);
    return info;
}

template <typename T>
twin::GmRange range(const std::vector<T>& data) {
    return {data.data(), data.size() * sizeof(T)};
}

// For the checks: the contract takes a mask with equal batches only, and the kernels take any.
template <typename Call>
Call unmasked(Call call) {
    call.x_active_mask = {};
    return call;
}

inline op_host::CommonAttributes attributes(const CommunicatorLimits& limits, uint32_t rank, const Batch& batch) {
    const Features& f = batch.features;
    op_host::CommonAttributes result;
    result.ep_world_size = limits.num_ranks;
    result.ep_rank_id = rank;
    result.moe_expert_num = batch.num_experts == 0 ? limits.num_experts : batch.num_experts;
    result.global_bs = int64_t{batch.max_tokens} * limits.num_ranks;
    if (f.shared_ranks != 0) result.shared_expert_num = f.shared_experts;
    result.shared_expert_rank_num = f.shared_ranks;
    if (f.copies == CopyMode::kPerExpert) result.comm_alg = "fullmesh_v1";
    return result;
}

inline int64_t quant_mode_of(Quant quant) {
    switch (quant) {
        case Quant::kStaticInt8:
            return op_host::kQuantStatic;
        case Quant::kTokenInt8:
        case Quant::kTokenE4m3:
        case Quant::kTokenE5m2:
            return op_host::kQuantPerToken;
        case Quant::kGroupE4m3:
        case Quant::kGroupE5m2:
            return op_host::kQuantPerGroup;
        case Quant::kMxE4m3:
        case Quant::kMxE5m2:
            return op_host::kQuantMx;
        case Quant::kNone:
        case Quant::kCount:
            break;
    }
    return op_host::kQuantPass;
}

// torch's number of the elements' type.
inline std::optional<int64_t> y_dtype_of(Quant quant) {
    if (quant == Quant::kTokenE5m2 || quant == Quant::kGroupE5m2 || quant == Quant::kMxE5m2) return 23;
    if (quant == Quant::kTokenE4m3 || quant == Quant::kGroupE4m3 || quant == Quant::kMxE4m3) return 24;
    return std::nullopt;
}

inline op_host::TensorInfo scales_info(const Batch& batch, int64_t num_experts) {
    const Features& f = batch.features;
    const int64_t hidden = batch.hidden, shared = f.shared_ranks == 0 ? 0 : f.shared_experts;
    switch (f.scales) {
        case ScalesKind::kScalar:
            return tensor(Dtype::kFp32, {1});
        case ScalesKind::kRow:
            return tensor(Dtype::kFp32, {hidden});
        case ScalesKind::kPerExpert:
            return tensor(Dtype::kFp32, {shared + num_experts, hidden});
        case ScalesKind::kTravelFp32:
            return tensor(Dtype::kFp32, {batch.num_tokens, f.scale_columns});
        case ScalesKind::kTravelE8m0:
            return tensor(Dtype::kE8m0, {batch.num_tokens, f.scale_columns});
        case ScalesKind::kNone:
        case ScalesKind::kCount:
            break;
    }
    return {};
}

inline op_host::TensorInfo mask_info(const Batch& batch) {
    if (batch.features.mask == MaskKind::kTokens) return tensor(Dtype::kBool, {batch.num_tokens});
    if (batch.features.mask == MaskKind::kPairs) return tensor(Dtype::kBool, {batch.num_tokens, batch.num_topk});
    return {};
}

inline op_host::DispatchCall dispatch_call(const CommunicatorLimits& limits, uint32_t rank, const Batch& batch) {
    const Features& f = batch.features;
    op_host::DispatchCall call;
    call.x = tensor(f.dtype, {batch.num_tokens, batch.hidden});
    call.expert_ids = tensor(Dtype::kInt32, {batch.num_tokens, batch.num_topk});
    call.attributes = attributes(limits, rank, batch);
    call.quant_mode = quant_mode_of(f.quant);
    call.y_dtype = y_dtype_of(f.quant);
    call.expert_token_nums_type = f.has_sums ? 0 : 1;
    call.scales = scales_info(batch, call.attributes.moe_expert_num);
    call.x_active_mask = mask_info(batch);
    if (f.has_weights) call.expert_scales = tensor(Dtype::kFp32, {batch.num_tokens, batch.num_topk});
    if (f.has_performance) call.performance_info = tensor(Dtype::kInt64, {limits.num_ranks});
    return call;
}

// Outputs of the call, poisoned. `assist_words`: of the triples and what lies behind them.
inline DispatchResult new_dispatch_result(const op_host::DispatchCall& call, const op_host::DispatchShapes& shapes,
                                          const Batch& batch, uint64_t assist_words) {
    DispatchResult result;
    const auto rows = static_cast<size_t>(shapes.capacity_rows);
    const auto elements = static_cast<size_t>(shapes.capacity_rows * shapes.hidden);
    const auto scale_bytes = static_cast<size_t>(std::max<int64_t>(op_host::quant_plan(call).scale_bytes, 4));
    result.capacity_rows = static_cast<uint32_t>(rows);
    if (has_byte_rows(batch.features)) {
        result.expand_bytes.assign(elements, kPoisonByte);
    } else {
        result.expand_x.assign(elements, kPoisonRow);
    }
    result.scales.assign(rows * scale_bytes, kPoisonByte);
    result.expand_scales.assign(rows, kPoisonFloat);
    result.assist_info.assign(assist_words, kPoisonWord);
    result.ep_recv_counts.assign(static_cast<size_t>(shapes.ep_recv_counts), static_cast<int32_t>(kPoisonCount));
    result.expert_token_nums.assign(static_cast<size_t>(shapes.expert_token_nums), kPoisonCount);
    result.performance_info = batch.performance_info;
    return result;
}

// Everything that a kernel may touch goes into `ranges`.
class Addresses {
  public:
    Addresses(uint32_t shift, std::vector<twin::GmRange>* ranges) : shift_(shift), ranges_(*ranges) {}

    template <typename T>
    uint64_t input(const std::vector<T>& data) {
        ranges_.push_back(range(data));
        return address(data, shift_);
    }
    template <typename T>
    uint64_t output(std::vector<T>& data) {
        ranges_.push_back(range(data));
        return address(data);
    }

  private:
    uint32_t shift_;
    std::vector<twin::GmRange>& ranges_;
};

// `shift`: elements that `batch` holds before those of its inputs.
inline op_host::DispatchAddresses dispatch_addresses(const Batch& batch, uint32_t shift, DispatchResult* result,
                                                     std::vector<twin::GmRange>* ranges) {
    const Features& f = batch.features;
    Addresses at(shift, ranges);
    op_host::DispatchAddresses addresses{};
    addresses.x = is_one_byte(f.dtype) ? at.input(batch.x_bytes) : at.input(batch.x);
    addresses.expert_ids = at.input(batch.expert_ids);
    if (f.scales != ScalesKind::kNone)
        addresses.scales = f.quant == Quant::kNone ? at.input(batch.travelling) : at.input(batch.factors);
    if (f.mask != MaskKind::kNone) addresses.x_active_mask = at.input(batch.mask);
    if (f.has_weights) addresses.expert_scales = at.input(batch.weights);
    addresses.expand_x = has_byte_rows(f) ? at.output(result->expand_bytes) : at.output(result->expand_x);
    addresses.assist_info = at.output(result->assist_info);
    addresses.ep_recv_counts = at.output(result->ep_recv_counts);
    addresses.expert_token_nums = at.output(result->expert_token_nums);
    addresses.dynamic_scales = at.output(result->scales);
    addresses.expand_scales = at.output(result->expand_scales);
    if (f.has_performance) addresses.performance_info = at.output(result->performance_info);
    return addresses;
}

inline op_host::CombineCall combine_call(const CommunicatorLimits& limits, uint32_t rank, const Batch& batch,
                                         const DispatchResult& dispatched) {
    const Features& f = batch.features;
    op_host::CombineCall call;
    call.expand_x = tensor(combine_dtype(f), {dispatched.capacity_rows, batch.hidden});
    call.expert_ids = tensor(Dtype::kInt32, {batch.num_tokens, batch.num_topk});
    call.assist_info_for_combine =
        tensor(Dtype::kInt32, {std::max<int64_t>(int64_t{batch.num_tokens} * batch.num_topk,
                                                 int64_t{kAssistRowWords} * dispatched.capacity_rows)});
    call.ep_send_counts = tensor(Dtype::kInt32, {static_cast<int64_t>(dispatched.ep_recv_counts.size())});
    const bool has_scales = batch.has_scales || !batch.scales.empty();
    call.expert_scales =
        has_scales ? tensor(Dtype::kFp32, {batch.num_tokens, batch.num_topk}) : tensor(Dtype::kFp32, {0});
    call.attributes = attributes(limits, rank, batch);
    call.comm_quant_mode = f.is_int8 ? 2 : 0;
    call.x_active_mask = mask_info(batch);
    if (f.sums_by_rank && f.has_weights) call.expand_scales = tensor(Dtype::kFp32, {dispatched.capacity_rows});
    if (f.has_shared_x) call.shared_expert_x = tensor(combine_dtype(f), {batch.num_tokens, batch.hidden});
    if (f.has_performance) call.performance_info = tensor(Dtype::kInt64, {limits.num_ranks});
    return call;
}

inline CombineResult new_combine_result(const Batch& batch) {
    CombineResult result;
    result.x.assign(size_t{batch.num_tokens} * batch.hidden, kPoisonRow);
    result.performance_info = batch.performance_info;
    return result;
}

inline op_host::CombineAddresses combine_addresses(const Batch& batch, const DispatchResult& dispatched,
                                                   const std::vector<uint16_t>& expert_out, uint32_t shift,
                                                   CombineResult* result, std::vector<twin::GmRange>* ranges) {
    const Features& f = batch.features;
    Addresses at(shift, ranges);
    op_host::CombineAddresses addresses{};
    addresses.expand_x = at.input(expert_out);
    addresses.expert_ids = at.input(batch.expert_ids);
    addresses.assist_info = at.input(dispatched.assist_info);
    addresses.ep_send_counts = at.input(dispatched.ep_recv_counts);
    addresses.expert_scales = at.input(batch.scales);
    addresses.x_out = at.output(result->x);
    if (f.mask != MaskKind::kNone) addresses.x_active_mask = at.input(batch.mask);
    if (f.sums_by_rank) addresses.expand_scales = at.input(dispatched.expand_scales);
    if (f.has_shared_x) addresses.shared_expert_x = at.input(batch.shared_x);
    if (f.has_performance) addresses.performance_info = at.output(result->performance_info);
    return addresses;
}

}  // namespace ascend_deepep::simulator
