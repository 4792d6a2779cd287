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
    return {{s.capacity_rows, s.hidden}, {s.dynamic_scales}, {s.assist_info},  {s.expert_token_nums},
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

TEST(tokens_of_another_dtype_are_refused) {
    cann::CombineArguments arguments{sample_combine(), "group"};
    arguments.call.expand_x.dtype = Dtype::kFp32;
    stand_in::ContextValues values = values_of(arguments);
    gert::InferDataTypeContext context(values);
    CHECK_EQ(definition("CombineV2").infer_dtype(&context), ge::GRAPH_FAILED);
}
