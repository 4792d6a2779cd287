// SPDX-License-Identifier: Apache-2.0
//
// What quant_mode, dtypes and scales may be together: one row a refusal, and every legal cell of table 1.4 of the
// operators' contract. Layer: tests.
#include <cstring>
#include "check.h"

#include "op_host/check.h"
#include "op_host/check_rows.h"
#include "op_host/messages.h"
#include "op_host/quant.h"
#include "op_host/tiling.h"
#include "sample_calls.h"

using namespace ascend_deepep;
using namespace ascend_deepep::op_host;

namespace {

constexpr CommunicatorLimits kLimits = {4, 16, 2048, 4, 16, 2, 1};
// Numbers of dtypes as torch counts them, and torch_npu's own.
constexpr int64_t kInt8 = 1, kFp16 = 5, kBf16 = 15, kE5m2 = 23, kE4m3 = 24, kE8m0 = 44;
constexpr int64_t kNpuHif8 = 290, kNpuE5m2 = 291, kNpuE4m3 = 292, kNpuE8m0 = 293, kNpuFp4 = 296;

using Call = DispatchCall;

// A call with `mode`: scales and y_dtype as that mode needs them.
Call quantised(int64_t mode) {
    Call call = sample_dispatch();
    call.quant_mode = mode;
    if (mode == kQuantStatic) call.scales = tensor(Dtype::kFp32, {1});
    if (mode >= kQuantPerGroup) call.y_dtype = kE4m3;
    return call;
}
Call passing(Dtype x, Dtype scales, int64_t columns) {
    Call call = sample_dispatch();
    call.x.dtype = x;
    call.scales = tensor(scales, {8, columns});
    return call;
}

void refuses(Call call, Code code, Field field, const std::string& start) {
    const Status status = check_dispatch(kLimits, kSampleRank, call, nullptr);
    CHECK_EQ(status.refusal.code, code);
    CHECK_EQ(status.refusal.field, field);
    CHECK_EQ(status.message.substr(0, start.size()), start);
    CHECK(status.message.find(": ") != std::string::npos);
}

QuantPlan accepts(const Call& call) {
    DispatchShapes shapes;
    const Status status = check_dispatch(kLimits, kSampleRank, call, &shapes);
    CHECK_EQ(status.message, std::string());
    const QuantPlan plan = quant_plan(call);
    CHECK_EQ(shapes.expand_dtype, plan.expand_dtype);
    CHECK_EQ(shapes.scale_columns, plan.scale_columns);
    CHECK_EQ(shapes.scale_dtype, plan.scale_dtype);
    return plan;
}

template <typename Change>
Call with(Call call, Change change) {
    change(call);
    return call;
}

}  // namespace

TEST(modes_need_their_scales_or_take_none) {
    refuses(with(quantised(1), [](Call& c) { c.scales = TensorInfo{}; }), Code::kMissing, Field::kScales,
            "scales is missing: quant_mode = 1 needs it: its shape is [moe_expert_num");
    refuses(with(quantised(4), [](Call& c) { c.scales = tensor(Dtype::kFp32, {8, 1024}); }), Code::kUnexpected,
            Field::kScales, "scales is given, but quant_mode = 4 takes none: leave it out");
    refuses(with(quantised(0), [](Call& c) { c.scales = tensor(Dtype::kFp32, {8, 8}); }), Code::kUnexpected,
            Field::kScales, "scales is given, but quant_mode = 0 takes none for 16-bit tokens: leave it out");
    refuses(with(passing(Dtype::kE4m3, Dtype::kFp32, 8), [](Call& c) { c.scales = TensorInfo{}; }), Code::kMissing,
            Field::kScales, "scales is missing: quant_mode = 0 needs it: ");
}

TEST(shapes_of_scales_follow_the_mode) {
    refuses(with(quantised(1), [](Call& c) { c.scales = tensor(Dtype::kFp32, {2}); }), Code::kBadShape, Field::kScales,
            "scales.shape[0] = 2, must be 1024: ");
    refuses(with(quantised(1), [](Call& c) { c.scales = tensor(Dtype::kFp32, {7, 1024}); }), Code::kBadShape,
            Field::kScales, "scales.shape[0] = 7, must be 8: ");
    refuses(with(quantised(2), [](Call& c) { c.scales = tensor(Dtype::kFp32, {8, 512}); }), Code::kBadShape,
            Field::kScales, "scales.shape[1] = 512, must be 1024: ");
    refuses(with(quantised(2), [](Call& c) { c.scales = tensor(Dtype::kFp32, {1024}); }), Code::kBadRankOfTensor,
            Field::kScales, "scales has 1 dimensions, must have 2: ");
    refuses(passing(Dtype::kE5m2, Dtype::kFp32, 0), Code::kTooSmall, Field::kScales, "scales.shape[1] = 0 is below 1");
    refuses(with(passing(Dtype::kE5m2, Dtype::kFp32, 8), [](Call& c) { c.scales.shape[0] = 9; }), Code::kBadShape,
            Field::kScales, "scales.shape[0] = 9, must be 8: ");
    // With ranks of shared experts their rows come first.
    Call shared = quantised(3);
    shared.attributes.shared_expert_rank_num = 1;
    shared.attributes.moe_expert_num = 9;
    shared.scales = tensor(Dtype::kFp32, {9, 1024});
    refuses(shared, Code::kBadShape, Field::kScales, "scales.shape[0] = 9, must be 10: ");
    shared.scales = tensor(Dtype::kFp32, {10, 1024});
    CHECK_EQ(accepts(shared).copy_mode, CopyMode::kPerExpert);
}

TEST(scales_that_pass_through_fit_the_widest_copy) {
    // 2048 bf16 elements, 4 + 2 entries, 4 weights: the widest copy has 9 blocks of 480 B.
    Call call = passing(Dtype::kE4m3, Dtype::kFp32, 1);
    call.x.shape[1] = 2048;
    const int64_t room = 9 * 480 - 32 - 2048;
    call.scales.shape[1] = room / 32 * 8;
    accepts(call);
    call.scales.shape[1] += 1;
    refuses(call, Code::kOutOfRange, Field::kScales, "scales.shape[1] = 561 is outside [1, 560]: ");
    call.scales = tensor(Dtype::kE8m0, {8, 2049});
    refuses(call, Code::kOutOfRange, Field::kScales, "scales.shape[1] = 2049 is outside [1, 2048]: ");
}

TEST(dtypes_follow_the_mode) {
    refuses(with(quantised(2), [](Call& c) { c.x.dtype = Dtype::kE4m3; }), Code::kBadDtype, Field::kX,
            "x is float8_e4m3fn, must be bfloat16 or float16 with quant_mode above 0: ");
    refuses(with(quantised(0), [](Call& c) { c.y_dtype = kFp16; }), Code::kBadDtype, Field::kYDtype,
            "y_dtype is float16, must be the dtype of x with quant_mode = 0: ");
    refuses(with(quantised(1), [](Call& c) { c.y_dtype = kE4m3; }), Code::kBadDtype, Field::kYDtype,
            "y_dtype is float8_e4m3fn, must be int8 with quant_mode = 1: ");
    refuses(with(quantised(2), [](Call& c) { c.y_dtype = kBf16; }), Code::kBadDtype, Field::kYDtype,
            "y_dtype is bfloat16, must be int8, float8_e4m3fn or float8_e5m2 with quant_mode = 2: ");
    refuses(with(quantised(3), [](Call& c) { c.y_dtype = kInt8; }), Code::kBadDtype, Field::kYDtype,
            "y_dtype is int8, must be float8_e4m3fn or float8_e5m2 with quant_mode = 3: ");
    refuses(with(quantised(4), [](Call& c) { c.y_dtype.reset(); }), Code::kMissing, Field::kYDtype,
            "y_dtype is missing: quant_mode = 4 needs it: pass torch.float8_e4m3fn or torch.float8_e5m2");
    refuses(with(quantised(2), [](Call& c) { c.y_dtype = 1000; }), Code::kBadDtype, Field::kYDtype,
            "y_dtype = 1000 names no known dtype, must be int8, float8_e4m3fn or float8_e5m2 with quant_mode = 2: ");
    refuses(with(quantised(2), [](Call& c) { c.scales = tensor(Dtype::kE8m0, {8, 1024}); }), Code::kBadDtype,
            Field::kScales, "scales is float8_e8m0fnu, must be float32: ");
    refuses(with(quantised(4), [](Call& c) { c.y_dtype = kNpuFp4; }), Code::kNotImplemented, Field::kYDtype,
            "y_dtype = 296 is not implemented in this release: ");
    refuses(with(quantised(0), [](Call& c) { c.y_dtype = kNpuHif8; }), Code::kNotImplemented, Field::kYDtype,
            "y_dtype = 290 is not implemented in this release: ");
}

TEST(bytes_carry_a_type_that_is_named) {
    Call call = passing(Dtype::kUint8, Dtype::kFp32, 8);
    refuses(call, Code::kMissing, Field::kXDtype, "x_dtype is missing: x of dtype uint8 needs it: ");
    call.x_dtype = kBf16;
    refuses(call, Code::kBadDtype, Field::kXDtype,
            "x_dtype is bfloat16, must be float8_e4m3fn or float8_e5m2: name the dtype that the elements have");
    call.x_dtype = kNpuE5m2;
    CHECK_EQ(accepts(call).expand_dtype, Dtype::kE5m2);
    call.scales = tensor(Dtype::kUint8, {8, 32});
    refuses(call, Code::kMissing, Field::kScalesDtype, "scales_dtype is missing: scales of dtype uint8 needs it: ");
    call.scales_dtype = kNpuE8m0;
    CHECK_EQ(accepts(call).scale_bytes, 32);
    refuses(with(quantised(0), [](Call& c) { c.x_dtype = kFp16; }), Code::kBadDtype, Field::kXDtype,
            "x_dtype is float16, must be bfloat16: name the dtype that the elements have");
    accepts(with(quantised(0), [](Call& c) { c.x_dtype = kBf16; }));
}

// What scales are is compared between the ranks: kind, dtype, columns.
TEST(the_signature_tells_scales_apart) {
    std::vector<Call> calls = {quantised(2), quantised(1), quantised(1), quantised(2)};
    calls[2].scales = tensor(Dtype::kFp32, {1024});
    calls[3].scales = tensor(Dtype::kFp32, {8, 1024});
    calls.push_back(passing(Dtype::kE4m3, Dtype::kFp32, 8));
    calls.push_back(passing(Dtype::kE4m3, Dtype::kE8m0, 32));  // as many bytes
    calls.push_back(passing(Dtype::kE4m3, Dtype::kE8m0, 8));
    std::vector<uint32_t> words;
    for (const Call& call : calls) {
        DispatchTiling tiling;
        make_dispatch_tiling(kLimits, {}, call, {}, &tiling);
        for (const uint32_t other : words)
            CHECK(tiling.common.signature.scales != other);
        words.push_back(tiling.common.signature.scales);
    }
    Refusal refusal = make_refusal(Field::kScalesKind, Code::kSignature, words[5], words[4]);
    refusal.rank = 2;
    CHECK_EQ(
        describe(refusal, OperationKind::kDispatch, 0),
        std::string("scales are float8_e8m0fnu, a row per token of 32 columns on rank 2, float32, a row per token of 8 "
                    "columns here (rank 0): pass scales of one kind and dtype on all ranks"));
}

TEST(tables_without_rows_have_a_dtype_and_a_shape) {
    Call call = passing(Dtype::kE4m3, Dtype::kFp16, 8);
    call.x.shape[0] = call.expert_ids.shape[0] = call.scales.shape[0] = 0;
    refuses(call, Code::kBadDtype, Field::kScales, "scales is float16, must be float32 or uint8 or float8_e8m0fnu: ");
    call = quantised(2);
    call.expert_scales = tensor(Dtype::kFp32, {0, 2});
    refuses(call, Code::kBadShape, Field::kExpertScales, "expert_scales.shape[0] = 0, must be 8: ");
    call.expert_scales = tensor(Dtype::kFp32, {});  // torch_npu's way of saying "none"
    accepts(call);
}

TEST(copies_per_expert_need_their_room) {
    CommunicatorLimits narrow = kLimits;
    narrow.per_expert_copies = 0;
    Call call = quantised(2);
    call.scales = tensor(Dtype::kFp32, {8, 1024});
    for (const bool is_forced : {false, true}) {
        if (is_forced) {
            call = quantised(2);
            call.attributes.comm_alg = "fullmesh_v1";
        }
        CHECK_EQ(accepts(call).copy_mode, CopyMode::kPerExpert);
        const Status status = check_dispatch(narrow, kSampleRank, call, nullptr);
        CHECK_EQ(status.refusal.field, Field::kCopyMode);
        CHECK(status.message.find("per_expert_copies=True") != std::string::npos);
    }
    for (const char* word : {"", "fullmesh_v2", "fullmesh_dedup"}) {
        call = quantised(2);
        call.attributes.comm_alg = word;
        CHECK_EQ(accepts(call).copy_mode, CopyMode::kPerRank);
        CHECK(check_dispatch(narrow, kSampleRank, call, nullptr).ok());
    }
}

namespace {
struct Cell {
    int64_t mode;
    std::optional<int64_t> y_dtype;
    Quant quant;
    Dtype expand, scale;
    int64_t columns, scale_bytes;
};
// hidden 1040: tails of 16 in groups of 128 and 32.
const Cell kCells[] = {
    {1, std::nullopt, Quant::kStaticInt8, Dtype::kInt8, Dtype::kFp32, 0, 0},
    {1, kInt8, Quant::kStaticInt8, Dtype::kInt8, Dtype::kFp32, 0, 0},
    {2, std::nullopt, Quant::kTokenInt8, Dtype::kInt8, Dtype::kFp32, 0, 4},
    {2, kInt8, Quant::kTokenInt8, Dtype::kInt8, Dtype::kFp32, 0, 4},
    {2, kE4m3, Quant::kTokenE4m3, Dtype::kE4m3, Dtype::kFp32, 0, 4},
    {2, kNpuE5m2, Quant::kTokenE5m2, Dtype::kE5m2, Dtype::kFp32, 0, 4},
    {3, kNpuE4m3, Quant::kGroupE4m3, Dtype::kE4m3, Dtype::kFp32, 9, 36},
    {3, kE5m2, Quant::kGroupE5m2, Dtype::kE5m2, Dtype::kFp32, 9, 36},
    {4, kE4m3, Quant::kMxE4m3, Dtype::kE4m3, Dtype::kUint8, 34, 34},
    {4, kE5m2, Quant::kMxE5m2, Dtype::kE5m2, Dtype::kUint8, 34, 34},
};
}  // namespace

TEST(every_cell_has_its_plan) {
    for (const Dtype x : {Dtype::kBf16, Dtype::kFp16}) {
        for (const Cell& cell : kCells) {
            Call call = quantised(cell.mode);
            call.x = tensor(x, {8, 1040});
            call.y_dtype = cell.y_dtype;
            const QuantPlan plan = accepts(call);
            CHECK_EQ(plan.quant, cell.quant);
            CHECK_EQ(plan.expand_dtype, cell.expand);
            CHECK_EQ(plan.scale_dtype, cell.scale);
            CHECK_EQ(plan.scale_columns, cell.columns);
            CHECK_EQ(plan.scale_bytes, cell.scale_bytes);
            CHECK_EQ(plan.payload_bytes, 1040);
        }
    }
    for (const Dtype x : {Dtype::kE4m3, Dtype::kE5m2}) {
        for (const Dtype scales : {Dtype::kFp32, Dtype::kE8m0}) {
            const QuantPlan plan = accepts(passing(x, scales, 32));
            CHECK_EQ(plan.quant, Quant::kNone);
            CHECK_EQ(plan.expand_dtype, x);
            CHECK_EQ(plan.scale_dtype, scales);
            CHECK_EQ(plan.scale_columns, 32);
            CHECK_EQ(plan.scale_bytes, scales == Dtype::kFp32 ? 128 : 32);
        }
    }
    CHECK_EQ(dtype_of_number(kE8m0), Dtype::kE8m0);
    for (const std::vector<int64_t>& shape : std::vector<std::vector<int64_t>>{{1}, {1024}, {8, 1024}}) {
        Call call = quantised(1);
        call.scales.shape = shape;
        CHECK_EQ(accepts(call).copy_mode, shape.size() == 2 ? CopyMode::kPerExpert : CopyMode::kPerRank);
    }
}

TEST(a_rank_without_tokens_makes_the_same_call) {
    Call call = passing(Dtype::kE4m3, Dtype::kFp32, 8);
    call.expert_scales = tensor(Dtype::kFp32, {8, 2});
    Call empty = call;
    empty.x.shape[0] = empty.expert_ids.shape[0] = empty.scales.shape[0] = empty.expert_scales.shape[0] = 0;
    call.attributes.global_bs = empty.attributes.global_bs = 64;
    accepts(call);
    accepts(empty);
    DispatchTiling a, b;
    make_dispatch_tiling(kLimits, {}, call, {}, &a);
    make_dispatch_tiling(kLimits, {}, empty, {}, &b);
    CHECK(std::memcmp(&a.common.signature, &b.common.signature, sizeof(CallSignature)) == 0);
    CHECK_EQ(a.token.header_bytes, b.token.header_bytes);
}

TEST(sums_by_rank_need_a_copy_per_rank) {
    CommunicatorLimits limits = kLimits;
    limits.per_expert_copies = 1;
    limits.combine_reduce = static_cast<uint32_t>(CombineReduce::kRank);
    Call call = quantised(0);
    CHECK(check_dispatch(limits, kSampleRank, call, nullptr).ok());
    call.attributes.comm_alg = "fullmesh_v1";
    const Status status = check_dispatch(limits, kSampleRank, call, nullptr);
    CHECK_EQ(status.refusal.code, Code::kUnexpected);
    CHECK_EQ(
        status.message,
        std::string("this call sends a copy per expert (scales of a row per expert, or comm_alg = \"fullmesh_v1\"), "
                    "and the communicator has combine_reduce = \"rank\", which needs one copy per rank: leave these "
                    "out, or make it with combine_reduce = \"row\""));
}
