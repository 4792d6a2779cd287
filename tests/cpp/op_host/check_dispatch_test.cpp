// SPDX-License-Identifier: Apache-2.0
//
// Refusals of dispatch_v2, one row each: spoil one argument of a good call, expect code, argument and whole text.
// Layer: tests.
#include "check.h"
#include "op_host/check.h"
#include "sample_calls.h"

using namespace ascend_deepep;
using namespace ascend_deepep::op_host;

namespace {

struct Case {
    void (*spoil)(DispatchCall&);
    Code code;
    Field field;
    const char* message;
};
using Call = DispatchCall;

constexpr Case kTensors[] = {
    {[](Call& c) { c.x.dtype = Dtype::kFp32; }, Code::kBadDtype, Field::kX,
     "x is float32, must be bfloat16 or float16 or uint8 or float8_e4m3fn or float8_e5m2: convert it before the call"},
    {[](Call& c) { c.x.dtype = Dtype::kOther; }, Code::kBadDtype, Field::kX,
     "x is an unsupported dtype, must be bfloat16 or float16 or uint8 or float8_e4m3fn or float8_e5m2: "},
    {[](Call& c) { c.expert_ids.dtype = Dtype::kInt64; }, Code::kBadDtype, Field::kExpertIds,
     "expert_ids is int64, must be int32: convert it before the call"},
    {[](Call& c) { c.x.shape = {2, 4, 1024}; }, Code::kBadRankOfTensor, Field::kX,
     "x has 3 dimensions, must have 2: its shape is [num_tokens, hidden]"},
    {[](Call& c) { c.x = TensorInfo{}; }, Code::kBadRankOfTensor, Field::kX,
     "x has 0 dimensions, must have 2: its shape is [num_tokens, hidden]"},
    {[](Call& c) { c.expert_ids.shape = {16}; }, Code::kBadRankOfTensor, Field::kExpertIds,
     "expert_ids has 1 dimensions, must have 2: its shape is [num_tokens, num_topk]"},
    {[](Call& c) { c.x.device = {DeviceType::kNpu, 3}; }, Code::kBadDevice, Field::kX,
     "x is not on the communicator's device: it is on npu:3, must be on cpu (target twin): move it there, or pass the "
     "name of a communicator whose target is ascend950"},
    {[](Call& c) { c.expert_ids.device = {DeviceType::kMeta, 0}; }, Code::kBadDevice, Field::kExpertIds,
     "expert_ids is not on the communicator's device: it is on meta, must be on cpu (target twin): move it there"},
    {[](Call& c) { c.device = {DeviceType::kNpu, 1}; }, Code::kBadDevice, Field::kX,
     "x is not on the communicator's device: it is on cpu, must be on npu:1 (target ascend950): move it there, or pass "
     "the name of a communicator whose target is twin"},
    {[](Call& c) {
         c.device = {DeviceType::kNpu, 1};
         c.x.device = c.device;
         c.expert_ids.device = {DeviceType::kNpu, 0};
     },
     Code::kBadDevice, Field::kExpertIds,
     "expert_ids is not on the communicator's device: it is on npu:0, must be on npu:1 (target ascend950): move it "
     "there"},
    {[](Call& c) { c.x.requires_grad = true; }, Code::kRequiresGrad, Field::kX,
     "x requires grad, but the operators are for inference: pass x.detach()"},
    {[](Call& c) { c.expert_ids.shape = {7, 2}; }, Code::kBadShape, Field::kExpertIds,
     "expert_ids.shape[0] = 7, must be 8: its shape is [num_tokens, num_topk]"},
    {[](Call& c) { c.x_active_mask = tensor(Dtype::kInt8, {8}); }, Code::kBadDtype, Field::kXActiveMask,
     "x_active_mask is int8, must be bool: convert it before the call"},
    {[](Call& c) { c.x_active_mask = tensor(Dtype::kBool, {1, 8, 1}); }, Code::kBadRankOfTensor, Field::kXActiveMask,
     "x_active_mask has 3 dimensions, must have 1 or 2: its shape is [num_tokens] or [num_tokens, num_topk]"},
    {[](Call& c) { c.x_active_mask = tensor(Dtype::kBool, {7}); }, Code::kBadShape, Field::kXActiveMask,
     "x_active_mask.shape[0] = 7, must be 8: its shape is [num_tokens] or [num_tokens, num_topk]"},
    {[](Call& c) { c.x_active_mask = tensor(Dtype::kBool, {8, 3}); }, Code::kBadShape, Field::kXActiveMask,
     "x_active_mask.shape[1] = 3, must be 2: its shape is [num_tokens] or [num_tokens, num_topk]"},
    {[](Call& c) {
         c.x_active_mask = tensor(Dtype::kBool, {8});
         c.attributes.global_bs = 64;
     },
     Code::kUnexpected, Field::kGlobalBs,
     "global_bs = 64 is above 32, num_tokens * ep_world_size, which does not go with x_active_mask: pass 0 and"},
    {[](Call& c) { c.expert_scales = tensor(Dtype::kFp32, {8, 4}); }, Code::kBadShape, Field::kExpertScales,
     "expert_scales.shape[1] = 4, must be 2: "},
    {[](Call& c) { c.elastic_info = tensor(Dtype::kInt32, {13}); }, Code::kBadShape, Field::kElasticInfo,
     "elastic_info.shape[0] = 13, must be 12: its shape is [4 + 2 * ep_world_size]"},
    {[](Call& c) { c.performance_info = tensor(Dtype::kInt64, {5}); }, Code::kBadShape, Field::kPerformanceInfo,
     "performance_info.shape[0] = 5, must be 4: its shape is [ep_world_size]"},
    {[](Call& c) { c.scales = tensor(Dtype::kFp16, {8, 1024}); }, Code::kBadDtype, Field::kScales,
     "scales is float16, must be float32 or uint8 or float8_e8m0fnu: convert it before the call"},
};

constexpr Case kAttributes[] = {
    {[](Call& c) { c.attributes.ep_world_size = 5; }, Code::kNotEqual, Field::kEpWorldSize,
     "ep_world_size = 5, must be 4: pass the communicator's num_ranks"},
    {[](Call& c) { c.attributes.ep_world_size = 0; }, Code::kNotEqual, Field::kEpWorldSize,
     "ep_world_size = 0, must be 4: pass the communicator's num_ranks"},
    {[](Call& c) { c.attributes.ep_rank_id = 2; }, Code::kNotEqual, Field::kEpRankId,
     "ep_rank_id = 2, must be 1: pass this process's rank in the communicator"},
    {[](Call& c) { c.attributes.ep_rank_id = -1; }, Code::kNotEqual, Field::kEpRankId, "ep_rank_id = -1, must be 1: "},
    {[](Call& c) { c.attributes.moe_expert_num = 0; }, Code::kOutOfRange, Field::kMoeExpertNum,
     "moe_expert_num = 0 is outside [1, 16]: use a multiple of the ranks"},
    {[](Call& c) { c.attributes.moe_expert_num = 20; }, Code::kOutOfRange, Field::kMoeExpertNum,
     "moe_expert_num = 20 is outside [1, 16]: "},
    {[](Call& c) { c.attributes.moe_expert_num = 10; }, Code::kNotMultiple, Field::kMoeExpertNum,
     "moe_expert_num = 10 is not a multiple of 4: use a multiple of the ranks that hold routed experts"},
    {[](Call& c) { c.attributes.moe_expert_num = 3; }, Code::kNotMultiple, Field::kMoeExpertNum,
     "moe_expert_num = 3 is not a multiple of 4: "},
    {[](Call& c) { c.attributes.tp_world_size = 2; }, Code::kOutOfRange, Field::kTpWorldSize,
     "tp_world_size = 2 is outside [0, 1]: pass 0"},
    {[](Call& c) { c.attributes.tp_rank_id = 1; }, Code::kOutOfRange, Field::kTpRankId,
     "tp_rank_id = 1 is outside [0, 0]: pass 0"},
    {[](Call& c) { c.attributes.group_tp = std::string(128, 'g'); }, Code::kOutOfRange, Field::kGroupTp,
     "length of group_tp = 128 is outside [0, 127]: leave it empty"},
    {[](Call& c) { c.attributes.expert_shard_type = 1; }, Code::kOutOfRange, Field::kExpertShardType,
     "expert_shard_type = 1 is outside [0, 0]: pass 0"},
    {[](Call& c) { c.attributes.shared_expert_num = 5; }, Code::kOutOfRange, Field::kSharedExpertNum,
     "shared_expert_num = 5 is outside [0, 4]: "},
    {[](Call& c) { c.attributes.shared_expert_num = 2; }, Code::kTooSmall, Field::kSharedExpertRankNum,
     "shared_expert_rank_num = 0 is below 2: pass 0 and at most one shared expert, or a multiple of shared_expert_num"},
    {[](Call& c) { c.attributes.shared_expert_num = 4; }, Code::kTooSmall, Field::kSharedExpertRankNum,
     "shared_expert_rank_num = 0 is below 4: "},
    {[](Call& c) {
         c.attributes.shared_expert_num = 0;
         c.attributes.shared_expert_rank_num = 1;
     },
     Code::kTooSmall, Field::kSharedExpertNum, "shared_expert_num = 0 is below 1: "},
    {[](Call& c) {
         c.attributes.shared_expert_num = 2;
         c.attributes.shared_expert_rank_num = 3;
     },
     Code::kNotMultiple, Field::kSharedExpertRankNum, "shared_expert_rank_num = 3 is not a multiple of 2: "},
    {[](Call& c) { c.attributes.shared_expert_rank_num = 4; }, Code::kOutOfRange, Field::kSharedExpertRankNum,
     "shared_expert_rank_num = 4 is outside [0, 3]: "},
    {[](Call& c) { c.attributes.shared_expert_rank_num = -1; }, Code::kOutOfRange, Field::kSharedExpertRankNum,
     "shared_expert_rank_num = -1 is outside [0, 3]: "},
    {[](Call& c) { c.quant_mode = 9; }, Code::kOutOfRange, Field::kQuantMode,
     "quant_mode = 9 is not one of 0, 1, 2, 3, 4, 5: pass one of them"},
    {[](Call& c) { c.quant_mode = -1; }, Code::kOutOfRange, Field::kQuantMode, "quant_mode = -1 is not one of "},
    {[](Call& c) { c.expert_token_nums_type = 2; }, Code::kOutOfRange, Field::kExpertTokenNumsType,
     "expert_token_nums_type = 2 is not one of 0 (prefix sums), 1 (counts): pass one of them"},
    {[](Call& c) { c.attributes.zero_expert_num = -1; }, Code::kOutOfRange, Field::kZeroExpertNum,
     "zero_expert_num = -1 is outside [0, 2147483639]: pass 0"},
    {[](Call& c) {
         c.attributes.zero_expert_num = 2147483639;
         c.attributes.copy_expert_num = 1;
     },
     Code::kOutOfRange, Field::kCopyExpertNum, "copy_expert_num = 1 is outside [0, 0]: pass 0"},
    {[](Call& c) { c.attributes.const_expert_num = INT64_MAX; }, Code::kOutOfRange, Field::kConstExpertNum,
     "const_expert_num = 9223372036854775807 is outside [0, 2147483639]: pass 0"},
    {[](Call& c) { c.attributes.comm_alg = "hierarchy"; }, Code::kOutOfRange, Field::kCommAlg,
     "comm_alg = \"hierarchy\" is refused: it is for ranks in several meshes; this library drives one full mesh; pass "
     "one of \"\", \"fullmesh_v2\", \"fullmesh_dedup\", \"fullmesh_v1\""},
    {[](Call& c) { c.attributes.comm_alg = "ccu"; }, Code::kOutOfRange, Field::kCommAlg,
     "comm_alg = \"ccu\" is refused: it runs on the collective communication unit"},
    {[](Call& c) { c.attributes.comm_alg = "ring"; }, Code::kOutOfRange, Field::kCommAlg,
     "comm_alg = \"ring\" is refused: no such algorithm; pass one of \"\", \"fullmesh_v2\", \"fullmesh_dedup\""},
};

constexpr Case kSizes[] = {
    {[](Call& c) {
         c.x.shape[0] = 17;
         c.expert_ids.shape[0] = 17;
     },
     Code::kOutOfRange, Field::kNumTokens,
     "num_tokens (x.shape[0]) = 17 is outside [0, 16]: send fewer tokens a call, or make the communicator with a "
     "larger max_tokens"},
    {[](Call& c) { c.x.shape[1] = 48; }, Code::kOutOfRange, Field::kHidden,
     "hidden (x.shape[1]) = 48 is outside [64, 2048]: use a multiple of 16, at most the communicator's hidden"},
    {[](Call& c) { c.x.shape[1] = 2064; }, Code::kOutOfRange, Field::kHidden,
     "hidden (x.shape[1]) = 2064 is outside [64, 2048]: "},
    {[](Call& c) { c.x.shape[1] = 1032; }, Code::kNotMultiple, Field::kHidden,
     "hidden (x.shape[1]) = 1032 is not a multiple of 16: "},
    {[](Call& c) { c.expert_ids.shape[1] = 0; }, Code::kOutOfRange, Field::kNumTopk,
     "num_topk (expert_ids.shape[1]) = 0 is outside [1, 4]: use at most the communicator's num_topk"},
    {[](Call& c) { c.expert_ids.shape[1] = 5; }, Code::kOutOfRange, Field::kNumTopk,
     "num_topk (expert_ids.shape[1]) = 5 is outside [1, 4]: "},
    {[](Call& c) { c.attributes.global_bs = 31; }, Code::kTooSmall, Field::kGlobalBs,
     "global_bs = 31 is below 32: pass ep_world_size times the largest batch of any rank"},
    {[](Call& c) { c.attributes.global_bs = -4; }, Code::kTooSmall, Field::kGlobalBs, "global_bs = -4 is below 32: "},
    {[](Call& c) { c.attributes.global_bs = 34; }, Code::kNotMultiple, Field::kGlobalBs,
     "global_bs = 34 is not a multiple of 4: "},
    {[](Call& c) { c.attributes.global_bs = 68; }, Code::kOutOfRange, Field::kGlobalBs,
     "global_bs = 68 is outside [0, 64]: "},
    {[](Call& c) { c.attributes.global_bs = INT64_MAX; }, Code::kOutOfRange, Field::kGlobalBs,
     "global_bs = 9223372036854775807 is outside [0, 64]: "},
};

constexpr Case kLater[] = {
    {[](Call& c) { c.elastic_info = tensor(Dtype::kInt32, {12}); }, Code::kNotImplemented, Field::kElasticInfo,
     "elastic_info is not implemented in this release: leave it out"},
    {[](Call& c) { c.quant_mode = 5; }, Code::kNotImplemented, Field::kQuantMode,
     "quant_mode = 5 is not implemented in this release: pass 0"},
    {[](Call& c) { c.attributes.zero_expert_num = 1; }, Code::kNotImplemented, Field::kZeroExpertNum,
     "zero_expert_num = 1 is not implemented in this release: pass 0"},
    {[](Call& c) { c.attributes.copy_expert_num = 2; }, Code::kNotImplemented, Field::kCopyExpertNum,
     "copy_expert_num = 2 is not implemented"},
    {[](Call& c) { c.attributes.const_expert_num = 3; }, Code::kNotImplemented, Field::kConstExpertNum,
     "const_expert_num = 3 is not implemented"},
    // Two faults: the illegal one is named, wherever it stands.
    {[](Call& c) {
         c.elastic_info = tensor(Dtype::kInt32, {12});
         c.quant_mode = 9;
     },
     Code::kOutOfRange, Field::kQuantMode, "quant_mode = 9 is not one of"},
    {[](Call& c) {
         c.quant_mode = 5;
         c.attributes.zero_expert_num = 1;
         c.expert_ids.shape = {9, 2};
     },
     Code::kBadShape, Field::kExpertIds, "expert_ids.shape[0] = 9, must be 8"},
};

// `message` is a beginning of the text, so a row may leave out the remedy another row has spelled.
template <size_t kCount>
void check_cases(const Case (&cases)[kCount]) {
    for (const Case& row : cases) {
        DispatchCall call = sample_dispatch();
        row.spoil(call);
        const Status status = check_dispatch(kSampleLimits, kSampleRank, call, nullptr);
        CHECK_EQ(status.refusal.code, row.code);
        CHECK_EQ(status.refusal.field, row.field);
        CHECK_EQ(status.refusal.rank, kSampleRank);
        CHECK_EQ(status.message.substr(0, std::strlen(row.message)), row.message);
        CHECK(status.message.find(": ") != std::string::npos && status.message.find('\n') == std::string::npos);
    }
}

bool passes(void (*change)(DispatchCall&)) {
    DispatchCall call = sample_dispatch();
    change(call);
    const Status status = check_dispatch(kSampleLimits, kSampleRank, call, nullptr);
    if (!status.ok()) std::fprintf(stderr, "%s\n", status.message.c_str());
    return status.ok();
}

}  // namespace

TEST(dispatch_refuses_bad_tensors) {
    check_cases(kTensors);
}
TEST(dispatch_refuses_bad_attributes) {
    check_cases(kAttributes);
}
TEST(dispatch_refuses_bad_sizes) {
    check_cases(kSizes);
}
TEST(dispatch_refuses_features_of_later_releases) {
    check_cases(kLater);
}

TEST(dispatch_accepts_values_at_their_limits) {
    CHECK(passes([](Call&) {}));
    CHECK(passes([](Call& c) { c.x.dtype = Dtype::kFp16; }));
    CHECK(passes([](Call& c) { c.x.shape[0] = c.expert_ids.shape[0] = 0; }));
    CHECK(passes([](Call& c) { c.x.shape[0] = c.expert_ids.shape[0] = 16; }));
    CHECK(passes([](Call& c) { c.x.shape[1] = 64; }));
    CHECK(passes([](Call& c) { c.x.shape[1] = 2048; }));
    CHECK(passes([](Call& c) { c.expert_ids.shape[1] = 1; }));
    CHECK(passes([](Call& c) { c.expert_ids.shape[1] = 4; }));
    CHECK(passes([](Call& c) { c.attributes.moe_expert_num = 4; }));
    CHECK(passes([](Call& c) { c.attributes.moe_expert_num = 16; }));
    CHECK(passes([](Call& c) { c.attributes.global_bs = 32; }));
    CHECK(passes([](Call& c) { c.attributes.global_bs = 64; }));
    CHECK(passes([](Call& c) {
        c.attributes.global_bs = 32;
        c.x_active_mask = tensor(Dtype::kBool, {8, 2});
    }));
    CHECK(passes([](Call& c) { c.x_active_mask = tensor(Dtype::kBool, {8}); }));
    CHECK(passes([](Call& c) { c.expert_scales = tensor(Dtype::kFp32, {8, 2}); }));
    CHECK(passes([](Call& c) { c.performance_info = tensor(Dtype::kInt64, {4}); }));
    CHECK(passes([](Call& c) { c.attributes.comm_alg = "fullmesh_v1"; }) == false);  // no room: see check_quant_test
    CHECK(passes([](Call& c) {
        c.attributes.global_bs = 64;
        c.x.shape[0] = c.expert_ids.shape[0] = 0;
    }));
    CHECK(passes([](Call& c) { c.attributes.shared_expert_num = 0; }));  // the same as the default pair (1, 0)
    CHECK(passes([](Call& c) { c.attributes.tp_world_size = 1; }));
    CHECK(passes([](Call& c) { c.attributes.group_tp = std::string(127, 'g'); }));
    CHECK(passes([](Call& c) { c.expert_token_nums_type = 0; }));
    CHECK(passes([](Call& c) { c.attributes.comm_alg = "fullmesh_v2"; }));
    CHECK(passes([](Call& c) { c.attributes.comm_alg = "fullmesh_dedup"; }));
    CHECK(passes([](Call& c) { c.expert_scales = tensor(Dtype::kFp32, {}); }));  // torch_npu's way of saying "none"
}

TEST(top_k_is_bounded_by_the_experts_of_the_call) {
    DispatchCall call = sample_dispatch();
    const CommunicatorLimits one_rank = {1, 16, 1024, 16, 16, 0};
    call.attributes.ep_world_size = 1;
    call.attributes.ep_rank_id = 0;
    call.attributes.moe_expert_num = 3;
    call.expert_ids.shape[1] = 4;
    CHECK_EQ(check_dispatch(one_rank, 0, call, nullptr).message.substr(0, 54),
             std::string("num_topk (expert_ids.shape[1]) = 4 is outside [1, 3]: "));
    call.expert_ids.shape[1] = 3;
    CHECK(check_dispatch(one_rank, 0, call, nullptr).ok());
}
