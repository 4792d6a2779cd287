// SPDX-License-Identifier: Apache-2.0
//
// Sizes in 64 bits and the layout hash. Layer: tests. Literals were computed apart from the contract.
#include "op_host/sizes.h"

#include <set>

#include "check.h"
#include "op_host/check.h"
#include "op_host/geometry.h"
#include "sample_calls.h"

using namespace ascend_deepep;
using namespace ascend_deepep::op_host;

TEST(sizes_equal_golden_numbers) {
    CHECK_EQ(required_window_bytes({8, 128, 7168, 8, 256, 0}), 66588672ULL);
    CHECK_EQ(workspace_bytes({8, 128, 7168, 8, 256, 0}), 38400ULL);
    CHECK_EQ(required_window_bytes({8, 128, 7168, 8, 256, 2, 1}), 320311296ULL);
    CHECK_EQ(required_window_bytes({1, 1, 64, 1, 1, 0}), 114688ULL);
}

// Public report 4 (a): sizes near and beyond 2^32 must come out exact, whatever the number of ranks.
TEST(sizes_do_not_wrap_at_32_bits) {
    CHECK_EQ(required_window_bytes({8, 512, 8192, 8, 512, 0}), 303452160ULL);
    CHECK_EQ(required_window_bytes({7, 512, 8192, 8, 448, 0}), 285032448ULL);
    CHECK_EQ(required_window_bytes({1024, 8192, 8192, 16, 1024, 4}), 306742640640ULL);
    CHECK_EQ(workspace_bytes({1024, 8192, 8192, 16, 1024, 4}), 36128768ULL);
    CHECK_EQ(size_product(8 * 64LL * 512, 16896), 4429185024LL);
    CHECK_EQ(size_product(7 * 64LL * 512, 16896), 3875536896LL);
    CHECK_EQ(size_product(int64_t{1} << 40, int64_t{1} << 40), INT64_MAX);
}

TEST(layout_hash_tells_every_limit_apart) {
    const CommunicatorLimits base = {8, 128, 7168, 8, 256, 0};
    CHECK_EQ(layout_hash(base), layout_hash(base));
    std::set<uint64_t> hashes = {layout_hash(base)};
    const CommunicatorLimits others[] = {
        {4, 128, 7168, 8, 256, 0},    {8, 127, 7168, 8, 256, 0}, {8, 128, 7152, 8, 256, 0},
        {8, 128, 7168, 7, 256, 0},    {8, 128, 7168, 8, 248, 0}, {8, 128, 7168, 8, 256, 1},
        {8, 128, 7168, 8, 256, 0, 1}, {128, 8, 7168, 8, 256, 0}, {8, 128, 7168, 256, 8, 0}};
    for (const CommunicatorLimits& limits : others)
        hashes.insert(layout_hash(limits));
    CHECK_EQ(hashes.size(), std::size(others) + 1);
}

namespace {

struct ShapeCase {
    int64_t num_ranks, rank, num_experts, shared, shared_ranks, tokens, hidden, topk, global_bs;
    bool is_elastic;
    int64_t rows, assist, expert_token_nums, ep_recv_counts;
};

DispatchCall call_of(const ShapeCase& s) {
    DispatchCall call;
    call.x = tensor(Dtype::kBf16, {s.tokens, s.hidden});
    call.expert_ids = tensor(Dtype::kInt32, {s.tokens, s.topk});
    call.attributes.ep_world_size = s.num_ranks;
    call.attributes.ep_rank_id = s.rank;
    call.attributes.moe_expert_num = s.num_experts;
    call.attributes.shared_expert_num = s.shared;
    call.attributes.shared_expert_rank_num = s.shared_ranks;
    call.attributes.global_bs = s.global_bs;
    call.elastic_info.is_present = s.is_elastic;
    return call;
}

// The first rows are the shape inference cases of the public operator.
constexpr ShapeCase kShapes[] = {
    {288, 0, 256, 1, 32, 32, 7168, 8, 0, false, 288, 36864, 1, 288},
    {8, 0, 32, 4, 4, 32, 7168, 8, 0, false, 256, 32768, 1, 8},
    {8, 0, 64, 1, 0, 32, 7168, 8, 0, false, 2048, 262144, 8, 64},
    {8, 5, 64, 2, 4, 32, 7168, 8, 0, true, 2048, 262144, 16, 128},
    {8, 5, 64, 2, 4, 32, 7168, 8, 0, false, 2048, 262144, 16, 128},
    {4, 1, 8, 1, 0, 8, 1024, 2, 0, false, 64, 8192, 2, 8},
    {4, 1, 8, 0, 0, 8, 1024, 2, 64, false, 128, 16384, 2, 8},
    {4, 1, 8, 0, 0, 0, 1024, 2, 64, false, 128, 16384, 2, 8},
    {4, 1, 8, 0, 0, 0, 1024, 2, 0, false, 0, 0, 2, 8},
    {1, 0, 3, 0, 0, 7, 64, 2, 0, false, 14, 1792, 3, 3},
    {1024, 9, 1024, 0, 0, 8192, 8192, 16, 0, false, 8388608, 1073741824, 1, 1024},
};

}  // namespace

TEST(output_shapes_equal_golden_table) {
    for (const ShapeCase& s : kShapes) {
        const DispatchShapes got = dispatch_shapes(call_of(s));
        CHECK_EQ(got.capacity_rows, s.rows);
        CHECK_EQ(got.hidden, s.hidden);
        CHECK_EQ(got.dynamic_scales, s.rows);
        CHECK_EQ(got.assist_info, s.assist);
        CHECK_EQ(got.expert_token_nums, s.expert_token_nums);
        CHECK_EQ(got.ep_recv_counts, s.ep_recv_counts);
        CHECK_EQ(got.tp_recv_counts, 0);
        CHECK_EQ(got.expand_scales, s.rows);
    }
}

TEST(shapes_of_a_hopeless_call_do_not_fault) {
    DispatchCall call = call_of(kShapes[5]);
    for (const int64_t value : {int64_t{0}, int64_t{-1}, INT64_MIN, INT64_MAX}) {
        for (int64_t CommonAttributes::* attribute :
             {&CommonAttributes::ep_world_size, &CommonAttributes::ep_rank_id, &CommonAttributes::moe_expert_num,
              &CommonAttributes::shared_expert_num, &CommonAttributes::shared_expert_rank_num,
              &CommonAttributes::global_bs}) {
            call = call_of(kShapes[5]);
            call.attributes.*attribute = value;
            CHECK(dispatch_shapes(call).capacity_rows >= 0);
            CHECK(geometry(call).first_expert >= 0);
        }
    }
    CHECK_EQ(dispatch_shapes(DispatchCall{}).capacity_rows, 0);
}

TEST(a_good_check_fills_the_shapes) {
    DispatchShapes shapes;
    CHECK(check_dispatch(kSampleLimits, kSampleRank, sample_dispatch(), &shapes).ok());
    CHECK_EQ(shapes.capacity_rows, 64);
    CHECK_EQ(shapes.assist_info, 8192);
}
