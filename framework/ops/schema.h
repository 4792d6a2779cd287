// SPDX-License-Identifier: Apache-2.0
//
// Schemas of the operators: names, order and defaults of torch_npu's npu_moe_distribute_dispatch_v2 / _combine_v2
// (facts: docs/compatibility.md). Layer: framework. The order here is the order in which arguments.cpp reads the stack.
#ifndef ASCEND_DEEPEP_FRAMEWORK_OPS_SCHEMA_H
#define ASCEND_DEEPEP_FRAMEWORK_OPS_SCHEMA_H

// Arguments, with the annotation of performance_info left to the user of the macro: it is written.
#define ASCEND_DEEPEP_DISPATCH_SCHEMA(name, written)                                                                   \
    name                                                                                                               \
        "(Tensor x, Tensor expert_ids, str group_ep, int ep_world_size, int ep_rank_id, int moe_expert_num, *, "       \
        "Tensor? scales=None, Tensor? x_active_mask=None, Tensor? expert_scales=None, Tensor? elastic_info=None, "     \
        "Tensor" written                                                                                               \
        "? performance_info=None, str group_tp=\"\", int tp_world_size=0, int tp_rank_id=0, int expert_shard_type=0, " \
        "int shared_expert_num=1, int shared_expert_rank_num=0, int quant_mode=0, int global_bs=0, "                   \
        "int expert_token_nums_type=1, str comm_alg=\"\", int zero_expert_num=0, int copy_expert_num=0, "              \
        "int const_expert_num=0, int? y_dtype=None, int? x_dtype=None, int? scales_dtype=None) "                       \
        "-> (Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor)"

#define ASCEND_DEEPEP_COMBINE_SCHEMA(name, written)                                                                    \
    name                                                                                                               \
        "(Tensor expand_x, Tensor expert_ids, Tensor assist_info_for_combine, Tensor ep_send_counts, "                 \
        "Tensor expert_scales, str group_ep, int ep_world_size, int ep_rank_id, int moe_expert_num, *, "               \
        "Tensor? tp_send_counts=None, Tensor? x_active_mask=None, Tensor? expand_scales=None, "                        \
        "Tensor? shared_expert_x=None, Tensor? elastic_info=None, Tensor? ori_x=None, "                                \
        "Tensor? const_expert_alpha_1=None, Tensor? const_expert_alpha_2=None, Tensor? const_expert_v=None, "          \
        "Tensor" written                                                                                               \
        "? performance_info=None, str group_tp=\"\", int tp_world_size=0, int tp_rank_id=0, int expert_shard_type=0, " \
        "int shared_expert_num=1, int shared_expert_rank_num=0, int global_bs=0, int comm_quant_mode=0, "              \
        "str comm_alg=\"\", int zero_expert_num=0, int copy_expert_num=0, int const_expert_num=0) -> Tensor"

namespace ascend_deepep::ops {

constexpr const char* kDispatchSchema = ASCEND_DEEPEP_DISPATCH_SCHEMA("dispatch_v2", "(a!)");
constexpr const char* kCombineSchema = ASCEND_DEEPEP_COMBINE_SCHEMA("combine_v2", "(a!)");

// Twins in namespace ascend_deepep that torch.compile calls in their place. torch orders effects only of operators
// whose schema writes to no argument, so these leave out the annotation; they refuse a performance_info.
constexpr const char* kOrderedDispatchSchema = ASCEND_DEEPEP_DISPATCH_SCHEMA("ordered_dispatch_v2", "");
constexpr const char* kOrderedCombineSchema = ASCEND_DEEPEP_COMBINE_SCHEMA("ordered_combine_v2", "");

}  // namespace ascend_deepep::ops

#endif  // ASCEND_DEEPEP_FRAMEWORK_OPS_SCHEMA_H
