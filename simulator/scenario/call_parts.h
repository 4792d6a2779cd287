// SPDX-License-Identifier: Apache-2.0
// Pieces of an operator call over vectors, for ranks that launch kernels without a communicator. Layer: simulator.
#pragma once

#include <utility>
#include <vector>

#include "op_host/calls.h"
#include "simulator/scenario/batch.h"
#include "twin/fabric/fabric.h"

namespace ascend_deepep::simulator {

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
    op_host::CommonAttributes result;
    result.ep_world_size = limits.num_ranks;
    result.ep_rank_id = rank;
    result.moe_expert_num = limits.num_experts;
    result.global_bs = int64_t{batch.max_tokens} * limits.num_ranks;
    return result;
}

}  // namespace ascend_deepep::simulator
