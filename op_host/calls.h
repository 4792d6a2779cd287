// SPDX-License-Identifier: Apache-2.0
//
// The arguments of the two operators as the framework hands them over: sizes, dtypes and attributes; no tensors.
// Layer: op_host. Checks and tiling work on these alone, so they are tested without any framework.
#ifndef ASCEND_DEEPEP_OP_HOST_CALLS_H
#define ASCEND_DEEPEP_OP_HOST_CALLS_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "contract/control_message.h"
#include "op_host/tensor_device.h"

namespace ascend_deepep::op_host {

// One tensor argument: what a check needs to know of it.
struct TensorInfo {
    bool is_present = false;
    Dtype dtype = Dtype::kOther;
    std::vector<int64_t> shape;
    TensorDevice device;
    bool requires_grad = false;
};

// Attributes both operators share; defaults as in torch_npu's npu_moe_distribute_*_v2.
struct CommonAttributes {
    int64_t ep_world_size = 0;
    int64_t ep_rank_id = 0;
    int64_t moe_expert_num = 0;
    std::string group_tp;
    int64_t tp_world_size = 0;
    int64_t tp_rank_id = 0;
    int64_t expert_shard_type = 0;
    int64_t shared_expert_num = 1;
    int64_t shared_expert_rank_num = 0;
    int64_t global_bs = 0;
    std::string comm_alg;
    int64_t zero_expert_num = 0;
    int64_t copy_expert_num = 0;
    int64_t const_expert_num = 0;
};

// `device` of both calls: where the communicator takes tensors.
struct DispatchCall {
    TensorInfo x, expert_ids, scales, x_active_mask, expert_scales, elastic_info, performance_info;
    CommonAttributes attributes;
    int64_t quant_mode = 0;
    int64_t expert_token_nums_type = 1;
    std::optional<int64_t> y_dtype, x_dtype, scales_dtype;  // numbers of dtypes, as callers pass them
    TensorDevice device;
};

struct CombineCall {
    TensorInfo expand_x, expert_ids, assist_info_for_combine, ep_send_counts, expert_scales;
    TensorInfo tp_send_counts, x_active_mask, expand_scales, shared_expert_x, elastic_info, ori_x;
    TensorInfo const_expert_alpha_1, const_expert_alpha_2, const_expert_v, performance_info;
    CommonAttributes attributes;
    int64_t comm_quant_mode = 0;
    TensorDevice device;
};

// Shapes of the seven dispatch outputs (facts: op_contract 1.1, 9).
struct DispatchShapes {
    int64_t capacity_rows = 0;  // A
    int64_t hidden = 0;
    Dtype expand_dtype = Dtype::kBf16;  // of expand_x
    int64_t dynamic_scales = 0;         // A
    int64_t scale_columns = 0;          // of dynamic_scales; 0: it has one dimension
    Dtype scale_dtype = Dtype::kFp32;   // of dynamic_scales; uint8 carries e8m0
    bool passes_scales = false;         // dynamic_scales are rows of the scales given
    bool has_expert_scales = false;     // expand_scales is written
    int64_t assist_info = 0;            // max(BS * K, 128 * A)
    int64_t expert_token_nums = 0;      // local experts
    int64_t ep_recv_counts = 0;         // local experts * ranks
    int64_t tp_recv_counts = 0;         // tp_world_size
    int64_t expand_scales = 0;          // A
};

}  // namespace ascend_deepep::op_host

#endif  // ASCEND_DEEPEP_OP_HOST_CALLS_H
