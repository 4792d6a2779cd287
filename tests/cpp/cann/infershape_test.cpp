// SPDX-License-Identifier: Apache-2.0
//
// Shape and dtype inference of the operator package against op_host's shapes, and extents that a graph does not know
// yet. Layer: tests.
#include "check.h"
#include "contexts.h"
#include "op_host/check.h"
#include "op_host/sample_calls.h"

using namespace ascend_deepep;
using namespace ascend_deepep::test;
using op_host::sample_combine;
using op_host::sample_dispatch;

namespace {

using Sizes = std::vector<std::vector<int64_t>>;

template <typename Arguments>
Sizes inferred(const char* type, const Arguments& arguments) {
    stand_in::ContextValues values = values_of(arguments);
    gert::InferShapeContext context(values);
    CHECK_EQ(definition(type).infer_shape(&context), ge::GRAPH_SUCCESS);
    Sizes all;
    for (const stand_in::Tensor& output : values.outputs)
        all.push_back(sizes_of(output));
    return all;
}

Sizes expected(const op_host::DispatchShapes& s) {
    std::vector<int64_t> dynamic_scales = {s.dynamic_scales};
    if (s.scale_columns > 0) dynamic_scales.push_back(s.scale_columns);
    return {{s.capacity_rows, s.hidden}, dynamic_scales,     {s.assist_info},  {s.expert_token_nums},
            {s.ep_recv_counts},          {s.tp_recv_counts}, {s.expand_scales}};
}

void check_sizes(const Sizes& got, const Sizes& want) {
    CHECK_EQ(got.size(), want.size());
    for (size_t i = 0; i < std::min(got.size(), want.size()); ++i)
        CHECK(got[i] == want[i]);
}

cann::DispatchArguments dispatch_arguments() {
    return {sample_dispatch(), "group"};
}

// Tokens of `hidden` in float8; columns of their scales below 0 are unknown.
cann::DispatchArguments passed_arguments(int64_t hidden, std::vector<int64_t> scales) {
    cann::DispatchArguments arguments = dispatch_arguments();
    arguments.call.x = op_host::tensor(Dtype::kE4m3, {8, hidden});
    arguments.call.scales = op_host::tensor(Dtype::kE8m0, std::move(scales));
    return arguments;
}

cann::DispatchArguments quantised_arguments(int64_t quant_mode, int64_t hidden) {
    cann::DispatchArguments arguments = dispatch_arguments();
    arguments.call.x.shape[1] = hidden;
    arguments.call.quant_mode = quant_mode;
    if (quant_mode == 1) arguments.call.scales = op_host::tensor(Dtype::kFp32, {1});
    if (quant_mode >= 3) {
        arguments.y_dtype = ge::DT_FLOAT8_E4M3FN;
        arguments.call.y_dtype = 24;
    }
    return arguments;
}

std::vector<int64_t> inferred_scales(const cann::DispatchArguments& arguments) {
    return inferred("DispatchV2", arguments)[cann::kDynamicScales];
}

void check_scales(const cann::DispatchArguments& arguments, const std::vector<int64_t>& want) {
    CHECK(inferred_scales(arguments) == want);
    check_sizes(inferred("DispatchV2", arguments), expected(op_host::dispatch_shapes(arguments.call)));
}

}  // namespace

TEST(dispatch_outputs_have_op_hosts_shapes) {
    cann::DispatchArguments plain = dispatch_arguments();
    cann::DispatchArguments unequal = plain;
    unequal.call.attributes.global_bs = 64;
    cann::DispatchArguments shared = plain;
    shared.call.attributes.shared_expert_rank_num = 1;
    shared.call.attributes.moe_expert_num = 9;
    cann::DispatchArguments empty = plain;
    empty.call.x.shape[0] = empty.call.expert_ids.shape[0] = 0;
    for (const auto& arguments : {plain, unequal, shared, empty})
        check_sizes(inferred("DispatchV2", arguments), expected(op_host::dispatch_shapes(arguments.call)));
    // 8 tokens x 4 ranks x min(2 experts, top-2) rows: the number itself, once.
    CHECK_EQ(inferred("DispatchV2", plain)[cann::kExpandX][0], 64);
}

TEST(unknown_rows_stay_unknown_and_known_sizes_stay_known) {
    cann::DispatchArguments arguments = dispatch_arguments();
    arguments.call.x.shape = {-1, 1024};
    check_sizes(inferred("DispatchV2", arguments), {{-1, 1024}, {-1}, {-1}, {2}, {8}, {0}, {-1}});
    arguments.call.x.shape = {-2};  // nothing known
    check_sizes(inferred("DispatchV2", arguments), {{-1, -1}, {-1}, {-1}, {2}, {8}, {0}, {-1}});

    cann::CombineArguments combine{sample_combine(), "group"};
    combine.call.expert_ids.shape = {-1, 2};
    check_sizes(inferred("CombineV2", combine), {{-1, 1024}});
    combine.call.expand_x.shape = {-2};
    check_sizes(inferred("CombineV2", combine), {{-1, -1}});
}

// 1040 elements: 9 groups of 128, and 33 of 32, whose scales are padded to an even number.
TEST(dynamic_scales_have_the_columns_of_the_mode) {
    check_scales(quantised_arguments(1, 1040), {64});
    check_scales(quantised_arguments(2, 1040), {64});
    check_scales(quantised_arguments(3, 1040), {64, 9});
    check_scales(quantised_arguments(4, 1040), {64, 34});
    check_scales(passed_arguments(1040, {8, 33}), {64, 33});
}

TEST(dynamic_scales_keep_what_is_known) {
    for (const int64_t mode : {3, 4}) {
        cann::DispatchArguments arguments = quantised_arguments(mode, 1040);
        arguments.call.x.shape = {-1, 1040};
        CHECK(inferred_scales(arguments) == (std::vector<int64_t>{-1, mode == 3 ? 9 : 34}));
        arguments.call.x.shape = {8, -1};
        CHECK(inferred_scales(arguments) == (std::vector<int64_t>{-1, -1}));
        arguments.call.x.shape = {-2};
        CHECK(inferred_scales(arguments) == (std::vector<int64_t>{-1, -1}));
    }
    cann::DispatchArguments token = quantised_arguments(2, 1040);
    token.call.x.shape = {-2};
    CHECK(inferred_scales(token) == std::vector<int64_t>{-1});
    CHECK(inferred_scales(passed_arguments(1040, {-2})) == (std::vector<int64_t>{64, -1}));
    CHECK(inferred_scales(passed_arguments(1040, {8, -1})) == (std::vector<int64_t>{64, -1}));
    CHECK(inferred_scales(passed_arguments(1040, {-1, 33})) == (std::vector<int64_t>{64, 33}));
    CHECK(inferred_scales(passed_arguments(-1, {8, 33})) == (std::vector<int64_t>{-1, 33}));
}

TEST(combine_output_has_a_row_for_each_token) {
    check_sizes(inferred("CombineV2", cann::CombineArguments{sample_combine(), "group"}), {{8, 1024}});
}

TEST(outputs_follow_the_dtype_of_the_tokens) {
    for (const Dtype dtype : {Dtype::kBf16, Dtype::kFp16}) {
        cann::DispatchArguments arguments = dispatch_arguments();
        arguments.call.x.dtype = dtype;
        stand_in::ContextValues values = values_of(arguments);
        gert::InferDataTypeContext context(values);
        CHECK_EQ(definition("DispatchV2").infer_dtype(&context), ge::GRAPH_SUCCESS);
        const ge::DataType want[] = {cann_dtype(dtype), ge::DT_FLOAT, ge::DT_INT32, ge::DT_INT64,
                                     ge::DT_INT32,      ge::DT_INT32, ge::DT_FLOAT};
        for (size_t i = 0; i < values.outputs.size(); ++i)
            CHECK_EQ(values.outputs[i].dtype, want[i]);
    }
}

namespace {
struct DtypeCase {
    int64_t quant_mode;
    int64_t y_dtype;
    ge::DataType expand_x, dynamic_scales;
};
// Table 1.4 of the operators' contract, 16-bit tokens.
const DtypeCase kDtypeCases[] = {
    {0, 28, ge::DT_BF16, ge::DT_FLOAT},
    {1, 28, ge::DT_INT8, ge::DT_FLOAT},
    {1, 2, ge::DT_INT8, ge::DT_FLOAT},
    {2, 28, ge::DT_INT8, ge::DT_FLOAT},
    {2, 35, ge::DT_FLOAT8_E5M2, ge::DT_FLOAT},
    {2, 36, ge::DT_FLOAT8_E4M3FN, ge::DT_FLOAT},
    {3, 35, ge::DT_FLOAT8_E5M2, ge::DT_FLOAT},
    {3, 36, ge::DT_FLOAT8_E4M3FN, ge::DT_FLOAT},
    {4, 35, ge::DT_FLOAT8_E5M2, ge::DT_FLOAT8_E8M0},
    {4, 36, ge::DT_FLOAT8_E4M3FN, ge::DT_FLOAT8_E8M0},
};
}  // namespace

TEST(dtypes_of_rows_and_scales_are_those_of_the_mode) {
    for (const DtypeCase& c : kDtypeCases) {
        cann::DispatchArguments arguments = dispatch_arguments();
        arguments.call.quant_mode = c.quant_mode;
        arguments.y_dtype = c.y_dtype;
        stand_in::ContextValues values = values_of(arguments);
        gert::InferDataTypeContext context(values);
        CHECK_EQ(definition("DispatchV2").infer_dtype(&context), ge::GRAPH_SUCCESS);
        CHECK_EQ(values.outputs[cann::kExpandX].dtype, c.expand_x);
        CHECK_EQ(values.outputs[cann::kDynamicScales].dtype, c.dynamic_scales);
    }
}

TEST(tokens_of_another_dtype_are_refused) {
    cann::CombineArguments arguments{sample_combine(), "group"};
    arguments.call.expand_x.dtype = Dtype::kFp32;
    stand_in::ContextValues values = values_of(arguments);
    gert::InferDataTypeContext context(values);
    CHECK_EQ(definition("CombineV2").infer_dtype(&context), ge::GRAPH_FAILED);
}
