// SPDX-License-Identifier: Apache-2.0
//
// Refusals of combine_v2: what it has of its own, and that it shares the checks of dispatch_v2. Layer: tests.
#include "check.h"
#include "op_host/check.h"
#include "op_host/tiling.h"
#include "sample_calls.h"

using namespace ascend_deepep;
using namespace ascend_deepep::op_host;

namespace {

struct Case {
    void (*spoil)(CombineCall&);
    Code code;
    Field field;
    const char* message;
};
using Call = CombineCall;

constexpr Case kCases[] = {
    {[](Call& c) { c.expand_x.dtype = Dtype::kInt32; }, Code::kBadDtype, Field::kExpandX,
     "expand_x is int32, must be bfloat16 or float16: convert it before the call"},
    {[](Call& c) { c.expert_ids.dtype = Dtype::kInt16; }, Code::kBadDtype, Field::kExpertIds,
     "expert_ids is int16, must be int32: "},
    {[](Call& c) { c.assist_info_for_combine.dtype = Dtype::kInt64; }, Code::kBadDtype, Field::kAssistInfo,
     "assist_info_for_combine is int64, must be int32: "},
    {[](Call& c) { c.ep_send_counts.shape = {4, 2}; }, Code::kBadRankOfTensor, Field::kEpSendCounts,
     "ep_send_counts has 2 dimensions, must have 1: its shape is [ep_world_size * local experts]"},
    {[](Call& c) { c.expert_scales.dtype = Dtype::kBf16; }, Code::kBadDtype, Field::kExpertScales,
     "expert_scales is bfloat16, must be float32: "},
    {[](Call& c) { c.expert_scales.shape = {16}; }, Code::kBadRankOfTensor, Field::kExpertScales,
     "expert_scales has 1 dimensions, must have 2: its shape is [num_tokens, num_topk], or a tensor without elements"},
    {[](Call& c) { c.expert_scales.shape = {8, 3}; }, Code::kBadShape, Field::kExpertScales,
     "expert_scales.shape[1] = 3, must be 2: "},
    {[](Call& c) { c.expert_scales.requires_grad = true; }, Code::kRequiresGrad, Field::kExpertScales,
     "expert_scales requires grad, but the operators are for inference: pass expert_scales.detach()"},
    {[](Call& c) { c.expand_x.device = {DeviceType::kMeta, 0}; }, Code::kBadDevice, Field::kExpandX,
     "expand_x is not on the communicator's device: it is on meta, must be on cpu (target twin): move it there"},
    {[](Call& c) { c.expand_x.shape[0] = 63; }, Code::kTooSmall, Field::kExpandX,
     "expand_x.shape[0] = 63 is below 64: its shape is [rows, hidden], with the rows that dispatch_v2 returned"},
    {[](Call& c) { c.assist_info_for_combine.shape[0] = 8191; }, Code::kTooSmall, Field::kAssistInfo,
     "assist_info_for_combine.shape[0] = 8191 is below 8192: its shape is [128 * rows], as dispatch_v2 returned it"},
    {[](Call& c) { c.ep_send_counts.shape[0] = 7; }, Code::kTooSmall, Field::kEpSendCounts,
     "ep_send_counts.shape[0] = 7 is below 8: "},
    {[](Call& c) { c.attributes.global_bs = 64; }, Code::kTooSmall, Field::kExpandX,
     "expand_x.shape[0] = 64 is below 128: "},
    {[](Call& c) { c.expand_x.shape[1] = 1000; }, Code::kNotMultiple, Field::kHidden,
     "hidden (expand_x.shape[1]) = 1000 is not a multiple of 16: "},
    {[](Call& c) { c.expert_ids.shape[0] = 17; }, Code::kOutOfRange, Field::kNumTokens,
     "num_tokens (expert_ids.shape[0]) = 17 is outside [0, 16]: "},
    {[](Call& c) { c.attributes.ep_world_size = 8; }, Code::kNotEqual, Field::kEpWorldSize,
     "ep_world_size = 8, must be 4: "},
    {[](Call& c) { c.attributes.comm_alg = "hierarchy"; }, Code::kOutOfRange, Field::kCommAlg,
     "comm_alg = \"hierarchy\" is refused: "},
    {[](Call& c) { c.attributes.global_bs = 33; }, Code::kNotMultiple, Field::kGlobalBs,
     "global_bs = 33 is not a multiple of 4: "},
    {[](Call& c) { c.comm_quant_mode = 1; }, Code::kOutOfRange, Field::kCommQuantMode,
     "comm_quant_mode = 1 is not one of 0, 2, 3, 4: pass one of them"},
    {[](Call& c) { c.comm_quant_mode = 5; }, Code::kOutOfRange, Field::kCommQuantMode, "comm_quant_mode = 5 is not "},
    {[](Call& c) { c.tp_send_counts = tensor(Dtype::kInt64, {1}); }, Code::kBadDtype, Field::kTpSendCounts,
     "tp_send_counts is int64, must be int32: "},
    {[](Call& c) { c.x_active_mask = tensor(Dtype::kBool, {9}); }, Code::kBadShape, Field::kXActiveMask,
     "x_active_mask.shape[0] = 9, must be 8: "},
    {[](Call& c) { c.shared_expert_x = tensor(Dtype::kFp16, {8, 1024}); }, Code::kBadDtype, Field::kSharedExpertX,
     "shared_expert_x is float16, must be bfloat16: "},
    {[](Call& c) {
         c.shared_expert_x = tensor(Dtype::kBf16, {8, 1024});
         c.attributes.shared_expert_rank_num = 1;
         c.attributes.moe_expert_num = 9;
         c.expand_x.shape[0] = 96;
         c.assist_info_for_combine.shape[0] = 96 * 128;
         c.ep_send_counts.shape[0] = 12;
     },
     Code::kNotEqual, Field::kSharedExpertRankNum, "shared_expert_rank_num = 1, must be 0: "},
    {[](Call& c) { c.attributes.copy_expert_num = 1; }, Code::kMissing, Field::kOriX,
     "ori_x is missing: copy_expert_num = 1 needs it: its shape is [num_tokens, hidden]"},
    {[](Call& c) { c.ori_x = tensor(Dtype::kBf16, {8, 512}); }, Code::kBadShape, Field::kOriX,
     "ori_x.shape[1] = 512, must be 1024: "},
    {[](Call& c) {
         c.attributes.const_expert_num = 1;
         c.ori_x = tensor(Dtype::kBf16, {8, 1024});
     },
     Code::kMissing, Field::kConstExpertAlpha1,
     "const_expert_alpha_1 is missing: const_expert_num = 1 needs it: its shape is [const_expert_num, hidden]"},
    {[](Call& c) {
         c.attributes.const_expert_num = 1;
         c.ori_x = tensor(Dtype::kBf16, {8, 1024});
         c.const_expert_alpha_1 = c.const_expert_v = tensor(Dtype::kBf16, {1, 1024});
         c.const_expert_alpha_2 = tensor(Dtype::kBf16, {2, 1024});
     },
     Code::kBadShape, Field::kConstExpertAlpha2, "const_expert_alpha_2.shape[0] = 2, must be 1: "},
    {[](Call& c) { c.shared_expert_x = tensor(Dtype::kBf16, {2, 3, 1024}); }, Code::kBadShape, Field::kSharedExpertX,
     "shared_expert_x.shape[0] = 6, must be 8: its shape is [num_tokens, hidden], or [a, b, hidden] with a * b"},
    {[](Call& c) { c.shared_expert_x = tensor(Dtype::kBf16, {2, 4, 512}); }, Code::kBadShape, Field::kSharedExpertX,
     "shared_expert_x.shape[2] = 512, must be 1024: "},
    {[](Call& c) { c.shared_expert_x = tensor(Dtype::kBf16, {8, 512}); }, Code::kBadShape, Field::kSharedExpertX,
     "shared_expert_x.shape[1] = 512, must be 1024: "},
    {[](Call& c) { c.comm_quant_mode = 3; }, Code::kNotImplemented, Field::kCommQuantMode,
     "comm_quant_mode = 3 is not implemented in this release: pass 0"},
    {[](Call& c) { c.elastic_info = tensor(Dtype::kInt32, {12}); }, Code::kNotImplemented, Field::kElasticInfo,
     "elastic_info is not implemented"},
    {[](Call& c) { c.ori_x = tensor(Dtype::kBf16, {8, 1024}); }, Code::kNotImplemented, Field::kOriX,
     "ori_x is not implemented"},
    {[](Call& c) { c.const_expert_v = tensor(Dtype::kBf16, {1, 1024}); }, Code::kBadShape, Field::kConstExpertV,
     "const_expert_v.shape[0] = 1, must be 0: its shape is [const_expert_num, hidden]"},
    {[](Call& c) { c.attributes.zero_expert_num = 1; }, Code::kNotImplemented, Field::kZeroExpertNum,
     "zero_expert_num = 1 is not implemented"},
};

bool passes(void (*change)(CombineCall&)) {
    CombineCall call = sample_combine();
    change(call);
    const Status status = check_combine(kSampleLimits, kSampleRank, call);
    if (!status.ok()) std::fprintf(stderr, "%s\n", status.message.c_str());
    return status.ok();
}

}  // namespace

TEST(combine_refuses_bad_arguments) {
    for (const Case& row : kCases) {
        CombineCall call = sample_combine();
        row.spoil(call);
        const Status status = check_combine(kSampleLimits, kSampleRank, call);
        CHECK_EQ(status.refusal.code, row.code);
        CHECK_EQ(status.refusal.field, row.field);
        CHECK_EQ(status.message.substr(0, std::strlen(row.message)), row.message);
    }
}

TEST(combine_accepts_what_dispatch_returns) {
    CHECK(passes([](Call&) {}));
    CHECK(passes([](Call& c) { c.expert_scales.shape = {0}; }));
    CHECK(passes([](Call& c) { c.expand_x.shape[0] = 80; }));
    CHECK(passes([](Call& c) { c.tp_send_counts = tensor(Dtype::kInt32, {1}); }));
    CHECK(passes([](Call& c) { c.expand_scales = tensor(Dtype::kFp32, {64}); }));
    CHECK(passes([](Call& c) {
        c.expert_ids.shape[0] = c.expand_x.shape[0] = c.assist_info_for_combine.shape[0] = 0;
        c.expert_scales.shape[0] = 0;
    }));
    CHECK(passes([](Call& c) {
        c.attributes.global_bs = 64;
        c.expert_ids.shape[0] = c.expert_scales.shape[0] = 0;
        c.expand_x.shape[0] = 128;
        c.assist_info_for_combine.shape[0] = 128 * 128;
    }));
}

TEST(empty_scales_mean_a_plain_sum) {
    CombineCall call = sample_combine();
    CHECK(has_expert_scales(call));
    call.expert_scales.shape = {0};
    CHECK(!has_expert_scales(call));
}

// Of a communicator that sums by rank: the refusal of a sample call that `change` has changed; empty: none.
std::string by_rank(void (*change)(CombineCall&)) {
    CommunicatorLimits limits = kSampleLimits;
    limits.combine_reduce = static_cast<uint32_t>(CombineReduce::kRank);
    CombineCall call = sample_combine();
    change(call);
    return check_combine(limits, kSampleRank, call).message;
}

TEST(sums_by_rank_take_weights_from_dispatch) {
    CHECK_EQ(by_rank([](Call& c) { c.expand_scales = tensor(Dtype::kFp32, {64}); }), std::string());
    CHECK_EQ(by_rank([](Call& c) { c.expert_scales.shape = {0}; }), std::string());
    CHECK_EQ(
        by_rank([](Call&) {}),
        std::string("expand_scales is missing: with combine_reduce = \"rank\" rows are weighted where their experts "
                    "are: pass the expand_scales that dispatch_v2 returned for these expert_scales, or an empty "
                    "expert_scales for a plain sum"));
    CHECK_EQ(by_rank([](Call& c) { c.expand_scales = tensor(Dtype::kFp32, {63}); }),
             std::string("expand_scales.shape[0] = 63 is below 64: its shape is [rows], as dispatch_v2 returned it"));
    CHECK_EQ(
        by_rank([](Call& c) { c.comm_quant_mode = 2; }),
        std::string("comm_quant_mode = 2 does not go with combine_reduce = \"rank\", whose sums are not quantised: "
                    "pass 0, or make the communicator with combine_reduce = \"row\""));
}

// A rank without tokens says that the others' sums are weighted; the signature carries it.
TEST(tiling_of_sums_by_rank_says_who_weighs) {
    CommunicatorLimits limits = kSampleLimits;
    limits.combine_reduce = static_cast<uint32_t>(CombineReduce::kRank);
    CombineCall call = sample_combine();
    CombineAddresses addresses{};
    addresses.expand_scales = 17;
    const auto weighs = [&](const CommunicatorLimits& of) {
        CombineTiling t;
        make_combine_tiling(of, {}, CombineEngine::kMte, call, addresses, &t);
        CHECK_EQ(t.common.combine_reduce, of.combine_reduce);
        CHECK_EQ(t.expand_scales, t.common.signature.has_expert_scales != 0 ? 17ULL : 0ULL);
        return t.common.signature.has_expert_scales != 0;
    };
    CHECK(weighs(limits) && !weighs(kSampleLimits));
    call.expert_scales.shape[0] = 0;
    CHECK(weighs(limits));
    call.expert_scales.shape = {0};
    CHECK(!weighs(limits));
}
