// SPDX-License-Identifier: Apache-2.0
//
// The tiling functions of the operator package on a communicator of the twin: the same tiling data as op_host makes,
// the launch they ask for, refusals that still enter the operation, and calls that nobody can be waiting for. Layer:
// tests.
#include <cstdarg>

#include "check.h"
#include "contexts.h"
#include "op_host/cann/machine.h"
#include "op_host/check.h"
#include "op_host/sample_calls.h"
#include "op_host/text.h"
#include "runtime/ranks.h"

namespace {

// The log of CANN, as the package finds it.
std::string logged;  // NOLINT: one test program, one thread

}  // namespace

extern "C" void DlogRecord(int32_t module, int32_t level, const char* format, ...) {
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    CHECK(module == 63 && level == 3);
    logged += line;
}

using namespace ascend_deepep;
using namespace ascend_deepep::test;
using namespace ascend_deepep::op_host;

namespace {

constexpr const char* kName = "package";

// One rank is enough: a tiling function talks to no peer.
void on_communicator(const std::function<void(const Communicator&)>& body) {
    run_ranks(1, [&](const Rank& rank) {
        CommunicatorOptions options = rank.options(kName);
        options.limits = {1, 16, 2048, 4, 16, 0};
        options.combine_engine = CombineEngine::kUrma;
        const auto communicator = Communicator::create(options, rank.all_gather());
        logged.clear();
        body(*communicator);
    });
}

cann::DispatchArguments dispatch_arguments() {
    cann::DispatchArguments arguments{sample_dispatch(), kName};
    arguments.call.attributes.ep_world_size = 1;
    arguments.call.attributes.ep_rank_id = 0;
    return arguments;
}

cann::CombineArguments combine_arguments() {
    cann::CombineArguments arguments{sample_combine(), kName};
    arguments.call.attributes.ep_world_size = 1;
    arguments.call.attributes.ep_rank_id = 0;
    arguments.call.expand_x.shape = {16, 1024};
    arguments.call.assist_info_for_combine.shape = {16 * 128};
    arguments.call.ep_send_counts.shape = {8};
    return arguments;
}

// `y_dtype` is CANN's number, `number` op_host's.
cann::DispatchArguments quantised_arguments(int64_t quant_mode, ge::DataType y_dtype, int64_t number) {
    cann::DispatchArguments arguments = dispatch_arguments();
    arguments.call.quant_mode = quant_mode;
    arguments.y_dtype = y_dtype;
    arguments.call.y_dtype = number;
    return arguments;
}

cann::DispatchArguments passed_arguments(Dtype x, Dtype scales) {
    cann::DispatchArguments arguments = dispatch_arguments();
    arguments.call.x.dtype = x;
    arguments.call.scales = tensor(scales, {8, 32});
    return arguments;
}

// A call's context with outputs as the inference makes them; that of dtypes fails where no kernel is.
template <typename Arguments>
stand_in::ContextValues tiling_values(const char* type, const Arguments& arguments, size_t bytes) {
    stand_in::ContextValues values = values_of(arguments, bytes);
    gert::InferShapeContext context(values);
    CHECK_EQ(definition(type).infer_shape(&context), ge::GRAPH_SUCCESS);
    gert::InferDataTypeContext dtype_context(values);
    definition(type).infer_dtype(&dtype_context);
    return values;
}

ge::graphStatus tile(const char* type, stand_in::ContextValues* values) {
    gert::TilingContext context(*values);
    return definition(type).core.tiling(&context);
}

template <typename Tiling>
void check_launch(const stand_in::ContextValues& values, const Communicator& communicator, const Tiling& want) {
    CHECK_EQ(values.tiling_bytes, sizeof(Tiling));
    CHECK(std::memcmp(values.tiling_data.data(), &want, sizeof(want)) == 0);
    CHECK_EQ(values.block_dim, communicator.options().num_cores);
    CHECK_EQ(values.local_memory_bytes, kKernelUbBytes);
    CHECK_EQ(values.schedule_mode, 1U);
    CHECK_EQ(values.tiling_key, 0ULL);
    CHECK(values.workspaces == std::vector<size_t>{0});
}

void check_dispatch_call(const Communicator& communicator, const cann::DispatchArguments& arguments) {
    stand_in::ContextValues values = tiling_values("DispatchV2", arguments, sizeof(DispatchTiling));
    CHECK_EQ(tile("DispatchV2", &values), ge::GRAPH_SUCCESS);
    DispatchTiling want;
    make_dispatch_tiling(communicator.options().limits, communicator.machine(), arguments.call, {}, &want);
    CHECK_EQ(want.common.is_refused, 0U);
    check_launch(values, communicator, want);
    CHECK_EQ(logged, "");
}

// `part` of the text that says why; the tiling data must be op_host's refusal of that call.
void check_dispatch_refusal(const Communicator& communicator, const cann::DispatchArguments& arguments, Code code,
                            const char* part) {
    logged.clear();
    stand_in::ContextValues values = tiling_values("DispatchV2", arguments, sizeof(DispatchTiling));
    CHECK_EQ(tile("DispatchV2", &values), ge::GRAPH_SUCCESS);
    const CommunicatorLimits& limits = communicator.options().limits;
    const Status status = check_dispatch(limits, 0, arguments.call, nullptr);
    CHECK_EQ(status.refusal.code, code);
    DispatchTiling want;
    make_refusal_tiling(limits, communicator.machine(), status.refusal, &want);
    CHECK_EQ(want.common.is_refused, 1U);
    check_launch(values, communicator, want);
    CHECK(contains(logged, part));
    CHECK(contains(logged, status.message));
}

}  // namespace

TEST(dispatch_tiling_is_op_hosts) {
    on_communicator([](const Communicator& communicator) {
        cann::DispatchArguments arguments = dispatch_arguments();
        check_dispatch_call(communicator, arguments);
        arguments.call.x.dtype = Dtype::kFp16;
        arguments.call.attributes.global_bs = 16;
        arguments.call.expert_token_nums_type = 0;
        check_dispatch_call(communicator, arguments);
        arguments.call.x.shape[0] = arguments.call.expert_ids.shape[0] = 0;
        check_dispatch_call(communicator, arguments);
        arguments.call.scales = tensor(Dtype::kFp32, {0});  // given without elements: none
        check_dispatch_call(communicator, arguments);
        check_dispatch_call(communicator, quantised_arguments(2, ge::DT_INT8, 1));
        check_dispatch_call(communicator, quantised_arguments(3, ge::DT_FLOAT8_E5M2, 23));
        check_dispatch_call(communicator, quantised_arguments(4, ge::DT_FLOAT8_E4M3FN, 24));
        check_dispatch_call(communicator, passed_arguments(Dtype::kE4m3, Dtype::kFp32));
        check_dispatch_call(communicator, passed_arguments(Dtype::kE5m2, Dtype::kE8m0));
    });
}

TEST(combine_tiling_is_op_hosts_with_a_mark_for_weights) {
    on_communicator([](const Communicator& communicator) {
        const CommunicatorLimits& limits = communicator.options().limits;
        for (const bool is_weighted : {true, false}) {
            cann::CombineArguments arguments = combine_arguments();
            if (!is_weighted) arguments.call.expert_scales.shape = {0};
            stand_in::ContextValues values = tiling_values("CombineV2", arguments, sizeof(CombineTiling));
            CHECK_EQ(tile("CombineV2", &values), ge::GRAPH_SUCCESS);
            CombineAddresses addresses{};
            addresses.expert_scales = is_weighted ? 1 : 0;
            CombineTiling want;
            make_combine_tiling(limits, communicator.machine(), CombineEngine::kUrma, arguments.call, addresses, &want);
            check_launch(values, communicator, want);
            CHECK_EQ(logged, "");
        }
    });
}

TEST(refused_dispatches_enter_in_refuse_mode) {
    on_communicator([](const Communicator& communicator) {
        cann::DispatchArguments arguments = dispatch_arguments();
        arguments.call.x.shape[1] = 4096;
        check_dispatch_refusal(communicator, arguments, Code::kOutOfRange, "hidden");
        arguments = dispatch_arguments();
        arguments.call.expert_ids.dtype = Dtype::kInt64;
        check_dispatch_refusal(communicator, arguments, Code::kBadDtype, "expert_ids");
        arguments = dispatch_arguments();
        arguments.call.attributes.comm_alg = "ccu";
        check_dispatch_refusal(communicator, arguments, Code::kOutOfRange, "comm_alg");
        arguments = dispatch_arguments();
        arguments.call.x = TensorInfo{};  // a required input that is not there
        check_dispatch_refusal(communicator, arguments, Code::kBadRankOfTensor, "x");
        arguments = dispatch_arguments();
        arguments.call.quant_mode = 5;
        check_dispatch_refusal(communicator, arguments, Code::kNotImplemented, "quant_mode");
        arguments = quantised_arguments(2, ge::DT_FLOAT16, 5);
        check_dispatch_refusal(communicator, arguments, Code::kBadDtype, "y_dtype is float16");
        arguments = passed_arguments(Dtype::kE4m3, Dtype::kFp32);
        arguments.call.scales = TensorInfo{};
        check_dispatch_refusal(communicator, arguments, Code::kMissing, "scales is missing");
    });
}

TEST(refused_combines_enter_in_refuse_mode) {
    on_communicator([](const Communicator& communicator) {
        cann::CombineArguments arguments = combine_arguments();
        arguments.call.comm_quant_mode = 3;
        stand_in::ContextValues values = tiling_values("CombineV2", arguments, sizeof(CombineTiling));
        CHECK_EQ(tile("CombineV2", &values), ge::GRAPH_SUCCESS);
        const CommunicatorLimits& limits = communicator.options().limits;
        const Status status = check_combine(limits, 0, arguments.call);
        CombineTiling want;
        make_refusal_tiling(limits, communicator.machine(), CombineEngine::kUrma, status.refusal, &want);
        check_launch(values, communicator, want);
        CHECK(contains(logged, status.message) && contains(logged, "comm_quant_mode"));
    });
}

namespace {

// The tiling of a call whose output `index` is another one.
Refusal refusal_with_output(const cann::DispatchArguments& arguments, size_t index, const stand_in::Tensor& output) {
    logged.clear();
    stand_in::ContextValues values = tiling_values("DispatchV2", arguments, sizeof(DispatchTiling));
    values.outputs[index] = output;
    CHECK_EQ(tile("DispatchV2", &values), ge::GRAPH_SUCCESS);
    const auto& common = reinterpret_cast<const DispatchTiling*>(values.tiling_data.data())->common;
    CHECK_EQ(common.is_refused, common.refusal.code == Code::kOk ? 0U : 1U);
    return common.refusal;
}

struct NeededOutput {
    size_t index;
    const char* name;
    ge::DataType dtype;
    int64_t elements;
};
// Of 8 tokens of 1024 on one rank with top-2: 16 rows.
const NeededOutput kNeeded[] = {
    {cann::kExpandX, "expand_x", ge::DT_FLOAT8_E4M3FN, 16 * 1024},
    {cann::kDynamicScales, "dynamic_scales", ge::DT_FLOAT8_E8M0, 16 * 32},
    {cann::kAssistInfo, "assist_info_for_combine", ge::DT_INT32, 16 * 128},
    {cann::kExpertTokenNums, "expert_token_nums", ge::DT_INT64, 8},
    {cann::kEpRecvCounts, "ep_recv_counts", ge::DT_INT32, 8},
    {cann::kExpandScales, "expand_scales", ge::DT_FLOAT, 16},
};

}  // namespace

TEST(an_output_that_is_too_small_is_refused_by_name) {
    on_communicator([](const Communicator&) {
        cann::DispatchArguments arguments = quantised_arguments(4, ge::DT_FLOAT8_E4M3FN, 24);
        arguments.call.expert_scales = tensor(Dtype::kFp32, {8, 2});
        for (const NeededOutput& output : kNeeded) {
            const auto with = [&](int64_t elements) {
                return refusal_with_output(arguments, output.index, cann_tensor(output.dtype, {elements}));
            };
            CHECK_EQ(with(output.elements).code, Code::kOk);
            const Refusal refusal = with(output.elements - 1);
            CHECK_EQ(refusal.code, Code::kBadShape);
            CHECK_EQ(refusal.limit, output.elements);
            CHECK(contains(logged, op_host::text("output ", output.name, " has ", output.elements - 1)));
        }
        // A factor a row, and one for each of 8 groups of 128.
        for (const int64_t mode : {2, 3}) {
            arguments = quantised_arguments(mode, ge::DT_FLOAT8_E5M2, 23);
            const auto small = cann_tensor(ge::DT_FLOAT, {(mode == 2 ? 16 : 16 * 8) - 1});
            CHECK_EQ(refusal_with_output(arguments, cann::kDynamicScales, small).limit,
                     small.shape.shape.GetDim(0) + 1);
        }
    });
}

// Sizes count elements, so a dtype of more bytes than the rows have would hide an output that is too small.
TEST(an_output_of_another_dtype_is_refused_by_name) {
    on_communicator([](const Communicator&) {
        const cann::DispatchArguments mx = quantised_arguments(4, ge::DT_FLOAT8_E4M3FN, 24);
        CHECK_EQ(refusal_with_output(dispatch_arguments(), cann::kExpandX, cann_tensor(ge::DT_INT8, {16, 1024})).code,
                 Code::kBadDtype);
        CHECK(contains(logged, "dispatch_v2: output expand_x is int8, must be bfloat16; allocate it"));
        CHECK_EQ(refusal_with_output(mx, cann::kExpandX, cann_tensor(ge::DT_FLOAT8_E5M2, {16, 1024})).code,
                 Code::kBadDtype);
        CHECK(contains(logged, "output expand_x is float8_e5m2, must be float8_e4m3fn"));
        CHECK_EQ(refusal_with_output(mx, cann::kDynamicScales, cann_tensor(ge::DT_FLOAT, {16, 32})).code,
                 Code::kBadDtype);
        CHECK(contains(logged, "output dynamic_scales is float32, must be float8_e8m0fnu"));
    });
}

TEST(outputs_that_a_call_does_not_write_may_be_empty) {
    on_communicator([](const Communicator&) {
        for (const size_t index : {cann::kDynamicScales, cann::kExpandScales}) {
            CHECK_EQ(refusal_with_output(dispatch_arguments(), index, cann_tensor(ge::DT_FLOAT, {0})).code, Code::kOk);
            CHECK_EQ(logged, "");
        }
    });
}

TEST(dtypes_that_no_kernel_takes_fail_in_the_inference_with_their_names) {
    const auto infers = [](const cann::DispatchArguments& arguments) {
        logged.clear();
        stand_in::ContextValues values = values_of(arguments);
        gert::InferDataTypeContext context(values);
        return definition("DispatchV2").infer_dtype(&context);
    };
    CHECK_EQ(infers(quantised_arguments(0, ge::DT_INT8, 1)), ge::GRAPH_SUCCESS);  // for the tiling to refuse
    CHECK_EQ(infers(quantised_arguments(2, ge::DT_INT32, 3)), ge::GRAPH_FAILED);
    CHECK(contains(logged, "no kernel takes tokens of bfloat16 with scales of float32 and gives rows of int32"));
    cann::DispatchArguments carried = passed_arguments(Dtype::kUint8, Dtype::kFp32);
    carried.x_dtype = ge::DT_FLOAT8_E4M3FN;
    CHECK_EQ(infers(carried), ge::GRAPH_FAILED);
    CHECK(contains(logged, "tokens of uint8"));
}

TEST(a_call_on_no_communicator_fails_and_says_how_to_make_one) {
    on_communicator([](const Communicator&) {
        cann::DispatchArguments arguments = dispatch_arguments();
        arguments.group_ep = "nobody";
        stand_in::ContextValues values = tiling_values("DispatchV2", arguments, sizeof(DispatchTiling));
        CHECK_EQ(tile("DispatchV2", &values), ge::GRAPH_FAILED);
        CHECK(contains(logged, "'nobody'") && contains(logged, "communicator = ascend_deepep.Communicator(group"));
    });
}

TEST(without_the_runtime_library_the_error_names_the_import) {
    const cann::FoundMachine found = cann::find_machine("group", "libascend_deepep_not_there.so");
    CHECK(contains(found.error, "libascend_deepep_not_there.so is not loaded") &&
          contains(found.error, "import ascend_deepep") && contains(found.error, "ascend_deepep.Communicator(group"));
    CHECK(contains(cann::find_machine("group", "libc.so.6").error, "of the same release"));
}

TEST(a_buffer_too_small_for_the_tiling_data_fails) {
    on_communicator([](const Communicator&) {
        stand_in::ContextValues values = tiling_values("DispatchV2", dispatch_arguments(), sizeof(DispatchTiling) - 1);
        CHECK_EQ(tile("DispatchV2", &values), ge::GRAPH_FAILED);
        CHECK(contains(logged, std::to_string(sizeof(DispatchTiling))));
    });
}
