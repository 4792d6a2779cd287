// SPDX-License-Identifier: Apache-2.0
//
// The tables. Layer: op_host/cann. A change of an argument is a change of framework/ops/schema.h too; a test compares.
#include "op_host/cann/arguments.h"

namespace ascend_deepep::cann {
namespace {

// What quantisation makes of 16-bit tokens, with scales in e8m0 for MX; then tokens that the caller has quantised,
// which pass through with their scales.
constexpr Column kDispatchColumns[] = {
    {ge::DT_BF16, ge::DT_FLOAT, ge::DT_BF16, ge::DT_FLOAT},
    {ge::DT_BF16, ge::DT_FLOAT, ge::DT_INT8, ge::DT_FLOAT},
    {ge::DT_BF16, ge::DT_FLOAT, ge::DT_FLOAT8_E4M3FN, ge::DT_FLOAT},
    {ge::DT_BF16, ge::DT_FLOAT, ge::DT_FLOAT8_E5M2, ge::DT_FLOAT},
    {ge::DT_BF16, ge::DT_FLOAT, ge::DT_FLOAT8_E4M3FN, ge::DT_FLOAT8_E8M0},
    {ge::DT_BF16, ge::DT_FLOAT, ge::DT_FLOAT8_E5M2, ge::DT_FLOAT8_E8M0},
    {ge::DT_FLOAT16, ge::DT_FLOAT, ge::DT_FLOAT16, ge::DT_FLOAT},
    {ge::DT_FLOAT16, ge::DT_FLOAT, ge::DT_INT8, ge::DT_FLOAT},
    {ge::DT_FLOAT16, ge::DT_FLOAT, ge::DT_FLOAT8_E4M3FN, ge::DT_FLOAT},
    {ge::DT_FLOAT16, ge::DT_FLOAT, ge::DT_FLOAT8_E5M2, ge::DT_FLOAT},
    {ge::DT_FLOAT16, ge::DT_FLOAT, ge::DT_FLOAT8_E4M3FN, ge::DT_FLOAT8_E8M0},
    {ge::DT_FLOAT16, ge::DT_FLOAT, ge::DT_FLOAT8_E5M2, ge::DT_FLOAT8_E8M0},
    {ge::DT_FLOAT8_E4M3FN, ge::DT_FLOAT, ge::DT_FLOAT8_E4M3FN, ge::DT_FLOAT},
    {ge::DT_FLOAT8_E4M3FN, ge::DT_FLOAT8_E8M0, ge::DT_FLOAT8_E4M3FN, ge::DT_FLOAT8_E8M0},
    {ge::DT_FLOAT8_E5M2, ge::DT_FLOAT, ge::DT_FLOAT8_E5M2, ge::DT_FLOAT},
    {ge::DT_FLOAT8_E5M2, ge::DT_FLOAT8_E8M0, ge::DT_FLOAT8_E5M2, ge::DT_FLOAT8_E8M0},
};
constexpr Column kCombineColumns[] = {{ge::DT_BF16}, {ge::DT_FLOAT16}};

#define ASCEND_DEEPEP_AT(member) [](auto& a) { return &a.member; }

constexpr InputRow<DispatchArguments> kDispatchInputs[] = {
    {"x", true, &Column::tokens, ASCEND_DEEPEP_AT(call.x)},
    {"expert_ids", true, ge::DT_INT32, ASCEND_DEEPEP_AT(call.expert_ids)},
    {"scales", false, &Column::scales, ASCEND_DEEPEP_AT(call.scales)},
    {"x_active_mask", false, ge::DT_BOOL, ASCEND_DEEPEP_AT(call.x_active_mask)},
    {"expert_scales", false, ge::DT_FLOAT, ASCEND_DEEPEP_AT(call.expert_scales)},
    {"elastic_info", false, ge::DT_INT32, ASCEND_DEEPEP_AT(call.elastic_info)},
    {"performance_info", false, ge::DT_INT64, ASCEND_DEEPEP_AT(call.performance_info)},
};

// In the order of DispatchOutput.
constexpr OutputRow kDispatchOutputs[] = {
    {"expand_x", &Column::rows},
    {"dynamic_scales", &Column::row_scales},
    {"assist_info_for_combine", ge::DT_INT32},
    {"expert_token_nums", ge::DT_INT64},
    {"ep_recv_counts", ge::DT_INT32},
    {"tp_recv_counts", ge::DT_INT32},
    {"expand_scales", ge::DT_FLOAT},
};

constexpr InputRow<CombineArguments> kCombineInputs[] = {
    {"expand_x", true, &Column::tokens, ASCEND_DEEPEP_AT(call.expand_x)},
    {"expert_ids", true, ge::DT_INT32, ASCEND_DEEPEP_AT(call.expert_ids)},
    {"assist_info_for_combine", true, ge::DT_INT32, ASCEND_DEEPEP_AT(call.assist_info_for_combine)},
    {"ep_send_counts", true, ge::DT_INT32, ASCEND_DEEPEP_AT(call.ep_send_counts)},
    {"expert_scales", true, ge::DT_FLOAT, ASCEND_DEEPEP_AT(call.expert_scales)},
    {"tp_send_counts", false, ge::DT_INT32, ASCEND_DEEPEP_AT(call.tp_send_counts)},
    {"x_active_mask", false, ge::DT_BOOL, ASCEND_DEEPEP_AT(call.x_active_mask)},
    {"expand_scales", false, ge::DT_FLOAT, ASCEND_DEEPEP_AT(call.expand_scales)},
    {"shared_expert_x", false, &Column::tokens, ASCEND_DEEPEP_AT(call.shared_expert_x)},
    {"elastic_info", false, ge::DT_INT32, ASCEND_DEEPEP_AT(call.elastic_info)},
    {"ori_x", false, &Column::tokens, ASCEND_DEEPEP_AT(call.ori_x)},
    {"const_expert_alpha_1", false, &Column::tokens, ASCEND_DEEPEP_AT(call.const_expert_alpha_1)},
    {"const_expert_alpha_2", false, &Column::tokens, ASCEND_DEEPEP_AT(call.const_expert_alpha_2)},
    {"const_expert_v", false, &Column::tokens, ASCEND_DEEPEP_AT(call.const_expert_v)},
    {"performance_info", false, ge::DT_INT64, ASCEND_DEEPEP_AT(call.performance_info)},
};

constexpr OutputRow kCombineOutputs[] = {{"x_out", &Column::tokens}};

#define ASCEND_DEEPEP_NUMBER(name) {#name, false, ASCEND_DEEPEP_AT(call.attributes.name), nullptr}
#define ASCEND_DEEPEP_NEEDED_NUMBER(name) {#name, true, ASCEND_DEEPEP_AT(call.attributes.name), nullptr}
#define ASCEND_DEEPEP_TEXT(name) {#name, false, nullptr, ASCEND_DEEPEP_AT(call.attributes.name)}

// What both schemas begin with.
#define ASCEND_DEEPEP_FIRST_ATTRIBUTES                                                                       \
    {"group_ep", true, nullptr, ASCEND_DEEPEP_AT(group_ep)}, ASCEND_DEEPEP_NEEDED_NUMBER(ep_world_size),     \
        ASCEND_DEEPEP_NEEDED_NUMBER(ep_rank_id), ASCEND_DEEPEP_NEEDED_NUMBER(moe_expert_num),                \
        ASCEND_DEEPEP_TEXT(group_tp), ASCEND_DEEPEP_NUMBER(tp_world_size), ASCEND_DEEPEP_NUMBER(tp_rank_id), \
        ASCEND_DEEPEP_NUMBER(expert_shard_type), ASCEND_DEEPEP_NUMBER(shared_expert_num),                    \
        ASCEND_DEEPEP_NUMBER(shared_expert_rank_num)

constexpr AttributeRow<DispatchArguments> kDispatchAttributes[] = {
    ASCEND_DEEPEP_FIRST_ATTRIBUTES,
    {"quant_mode", false, ASCEND_DEEPEP_AT(call.quant_mode), nullptr},
    ASCEND_DEEPEP_NUMBER(global_bs),
    {"expert_token_nums_type", false, ASCEND_DEEPEP_AT(call.expert_token_nums_type), nullptr},
    ASCEND_DEEPEP_TEXT(comm_alg),
    ASCEND_DEEPEP_NUMBER(zero_expert_num),
    ASCEND_DEEPEP_NUMBER(copy_expert_num),
    ASCEND_DEEPEP_NUMBER(const_expert_num),
    {"y_dtype", false, ASCEND_DEEPEP_AT(y_dtype), nullptr},
    {"x_dtype", false, ASCEND_DEEPEP_AT(x_dtype), nullptr},
    {"scales_dtype", false, ASCEND_DEEPEP_AT(scales_dtype), nullptr},
};

constexpr AttributeRow<CombineArguments> kCombineAttributes[] = {
    ASCEND_DEEPEP_FIRST_ATTRIBUTES,
    ASCEND_DEEPEP_NUMBER(global_bs),
    {"comm_quant_mode", false, ASCEND_DEEPEP_AT(call.comm_quant_mode), nullptr},
    ASCEND_DEEPEP_TEXT(comm_alg),
    ASCEND_DEEPEP_NUMBER(zero_expert_num),
    ASCEND_DEEPEP_NUMBER(copy_expert_num),
    ASCEND_DEEPEP_NUMBER(const_expert_num),
};

template <typename Row, size_t kSize>
Table<Row> table(const Row (&rows)[kSize]) {
    return {rows, kSize};
}

}  // namespace

template <>
Table<Column> columns<DispatchArguments>() {
    return table(kDispatchColumns);
}
template <>
Table<InputRow<DispatchArguments>> inputs() {
    return table(kDispatchInputs);
}
template <>
Table<OutputRow> outputs<DispatchArguments>() {
    return table(kDispatchOutputs);
}
template <>
Table<AttributeRow<DispatchArguments>> attributes() {
    return table(kDispatchAttributes);
}
template <>
Table<Column> columns<CombineArguments>() {
    return table(kCombineColumns);
}
template <>
Table<InputRow<CombineArguments>> inputs() {
    return table(kCombineInputs);
}
template <>
Table<OutputRow> outputs<CombineArguments>() {
    return table(kCombineOutputs);
}
template <>
Table<AttributeRow<CombineArguments>> attributes() {
    return table(kCombineAttributes);
}

}  // namespace ascend_deepep::cann
