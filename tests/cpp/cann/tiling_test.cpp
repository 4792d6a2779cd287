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

// A call's context with outputs as shape inference makes them.
template <typename Arguments>
stand_in::ContextValues tiling_values(const char* type, const Arguments& arguments, size_t bytes) {
    stand_in::ContextValues values = values_of(arguments, bytes);
    gert::InferShapeContext context(values);
    CHECK_EQ(definition(type).infer_shape(&context), ge::GRAPH_SUCCESS);
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

TEST(an_output_that_is_too_small_is_refused_by_name) {
    on_communicator([](const Communicator&) {
        const char* names[] = {"expand_x", "", "assist_info_for_combine", "expert_token_nums", "ep_recv_counts"};
        for (const size_t index : {cann::kExpandX, cann::kAssistInfo, cann::kExpertTokenNums, cann::kEpRecvCounts}) {
            logged.clear();
            stand_in::ContextValues values = tiling_values("DispatchV2", dispatch_arguments(), sizeof(DispatchTiling));
            const int64_t needed = values.outputs[index].shape.shape.GetShapeSize();
            values.outputs[index] = cann_tensor(ge::DT_INT32, {needed - 1});
            CHECK_EQ(tile("DispatchV2", &values), ge::GRAPH_SUCCESS);
            const auto& tiling = *reinterpret_cast<const DispatchTiling*>(values.tiling_data.data());
            CHECK_EQ(tiling.common.is_refused, 1U);
            CHECK_EQ(tiling.common.refusal.limit, needed);
            CHECK(contains(logged, std::string("output ") + names[index] + " has " + std::to_string(needed - 1)));
        }
    });
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
