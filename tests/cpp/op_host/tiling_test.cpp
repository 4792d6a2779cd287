// SPDX-License-Identifier: Apache-2.0
//
// Tiling data field by field, and the numbers that must fit UB at every legal shape. Layer: tests.
#include "op_host/tiling.h"

#include "check.h"
#include "op_host/check.h"
#include "sample_calls.h"

using namespace ascend_deepep;
using namespace ascend_deepep::op_host;

namespace {

constexpr Machine kMachine = {0x1000, 0x2000, 0x3000, kSampleRank, 24, 5000000000ULL};

void check_common(const CommonTiling& t) {
    CHECK_EQ(t.window_table, 0x1000ULL);
    CHECK_EQ(t.queue_table, 0x2000ULL);
    CHECK_EQ(t.workspace, 0x3000ULL);
    CHECK_EQ(t.timeout_cycles, 5000000000ULL);
    CHECK_EQ(t.rank, 1U);
    CHECK_EQ(t.num_ranks, 4U);
    CHECK_EQ(t.num_cores, 24U);
    CHECK_EQ(t.cycles_per_us, 1000ULL);
    CHECK_EQ(t.window.copies_per_source, 16U);
    CHECK(t.simt_width % 32 == 0 && t.simt_width > 0 && t.simt_width <= 1024);
    CHECK_EQ(t.window.total_bytes, window_layout(kSampleLimits).total_bytes);
    CHECK_EQ(t.workspace_layout.total_bytes, workspace_layout(kSampleLimits).total_bytes);
}

}  // namespace

TEST(dispatch_tiling_holds_the_call) {
    DispatchCall call = sample_dispatch();
    call.attributes.global_bs = 64;
    call.expert_token_nums_type = 0;
    DispatchTiling t;
    make_dispatch_tiling(kSampleLimits, kMachine, call, {11, 12, 13, 14, 15, 16}, &t);
    check_common(t.common);
    CHECK_EQ(t.common.is_refused, 0U);
    CHECK_EQ(t.common.local_experts, 2U);
    CHECK_EQ(t.common.num_tokens, 8U);
    CHECK_EQ(t.common.hidden, 1024U);
    CHECK_EQ(t.common.num_topk, 2U);
    CHECK_EQ(t.common.num_experts, 8U);
    CHECK(t.x == 11 && t.expert_ids == 12 && t.expand_x == 13 && t.assist_info == 14 && t.ep_recv_counts == 15 &&
          t.expert_token_nums == 16);
    CHECK_EQ(t.capacity_rows, 128U);
    CHECK_EQ(t.assist_trailer_offset, 384ULL);
    CHECK_EQ(t.expert_token_nums_type, 0U);
    CHECK_EQ(t.route_width, 8U);
    CHECK(route_ub(t).bytes == 8 * (8 + 4) * 4 && route_ub(t).limit == 128 * 1024);
    CHECK_EQ(t.collect_batch, 4U);
    CHECK_EQ(t.token.slot_bytes, 2560U);
    CHECK_EQ(t.token.header_offset, 2048U);
    const CallSignature want = {1, 1024, 2, 8, 0, 0, 1, 1, 16, kLayoutAbi, 0, 0, 0, 0, 0, 0};
    CHECK(std::memcmp(&t.common.signature, &want, sizeof(want)) == 0);
}

TEST(combine_tiling_holds_the_call) {
    CombineCall call = sample_combine();
    call.expand_x.dtype = Dtype::kFp16;
    CombineTiling t;
    make_combine_tiling(kSampleLimits, kMachine, CombineEngine::kUrma, call, {11, 12, 13, 14, 15, 16}, &t);
    check_common(t.common);
    CHECK(t.expand_x == 11 && t.expert_ids == 12 && t.assist_info == 13 && t.ep_send_counts == 14 &&
          t.expert_scales == 15 && t.x_out == 16);
    CHECK_EQ(t.capacity_rows, 64U);
    CHECK_EQ(t.assist_trailer_offset, 192ULL);
    CHECK_EQ(t.engine, 1U);
    CHECK_EQ(t.dtype, 2U);
    CHECK_EQ(t.row.blocks, 5U);
    CHECK_EQ(t.reduce_blocks, 5U);
    CHECK(reduce_ub(t).bytes == 5 * (2 + 1) * 480 && reduce_ub(t).limit == 150 * 1024);  // two columns and their sum
    CHECK_EQ(t.doorbell.count, 2U);
    const CallSignature want = {2, 1024, 2, 8, 0, 0, 2, 2, 8, kLayoutAbi, 0, 0, 0, 0, 0, 0};
    CHECK(std::memcmp(&t.common.signature, &want, sizeof(want)) == 0);
    call.expert_scales.shape = {0};
    make_combine_tiling(kSampleLimits, kMachine, CombineEngine::kMte, call, {11, 12, 13, 14, 15, 16}, &t);
    CHECK_EQ(t.expert_scales, 0ULL);
    CHECK_EQ(t.doorbell.count, 0U);
}

TEST(refusal_tiling_carries_the_refusal_and_no_work) {
    DispatchCall bad = sample_dispatch();
    bad.x.shape[1] = 1032;
    const Status status = check_dispatch(kSampleLimits, kSampleRank, bad, nullptr);
    DispatchTiling d;
    make_refusal_tiling(kSampleLimits, kMachine, status.refusal, &d);
    check_common(d.common);
    CHECK_EQ(d.common.is_refused, 1U);
    CHECK_EQ(d.common.num_tokens, 0U);
    CHECK_EQ(d.common.signature.kind, 1U);
    CHECK_EQ(d.common.refusal.code, Code::kNotMultiple);
    CHECK_EQ(d.common.refusal.rank, 1U);
    CHECK_EQ(d.stage.count + d.wqe_builder.count + d.doorbell.count + d.cumsum.count, 24U);
    CHECK_EQ(d.common.local_experts, 16U);
    CombineTiling c;
    make_refusal_tiling(kSampleLimits, kMachine, CombineEngine::kMte, status.refusal, &c);
    CHECK_EQ(c.common.is_refused, 1U);
    CHECK_EQ(c.common.signature.kind, 2U);
    CHECK_EQ(c.control.count + c.send.count, 24U);
}

TEST(the_trailer_fits_behind_the_triples) {
    for (const int64_t tokens : {0, 1, 2, 3, 5, 8, 16}) {
        DispatchCall call = sample_dispatch();
        call.x.shape[0] = call.expert_ids.shape[0] = tokens;
        DispatchTiling t;
        make_dispatch_tiling(kSampleLimits, kMachine, call, {}, &t);
        if (t.capacity_rows == 0) {
            CHECK_EQ(t.assist_trailer_offset, 0ULL);
            continue;
        }
        CHECK_EQ(t.assist_trailer_offset % 8, 0ULL);
        CHECK(t.assist_trailer_offset >= t.capacity_rows * 3ULL);
        CHECK(t.assist_trailer_offset + 8 <= t.capacity_rows * 128ULL);
    }
}

TEST(route_width_fits_ub_and_wastes_no_thread) {
    CHECK_EQ(route_width(0, 256, 8), 1U);
    CHECK_EQ(route_width(1, 256, 8), 1U);
    CHECK_EQ(route_width(100, 256, 8), 100U);
    CHECK_EQ(route_width(512, 256, 8), 103U);  // 124 threads would fit; 5 tokens each leave 21 of them none
    CHECK_EQ(route_width(8192, 1024, 1024), 16U);
    CHECK_EQ(route_width(8192, 1, 1), 1024U);
    for (const uint32_t experts : {1U, 8U, 256U, 1000U, 1024U}) {
        for (const uint32_t ranks : {1U, 8U, 1024U}) {
            for (uint32_t tokens = 1; tokens <= 8192; tokens = tokens * 3 / 2 + 1) {
                const uint32_t width = route_width(tokens, experts, ranks);
                const uint32_t each = (tokens + width - 1) / width;
                CHECK(width >= 1 && width <= 1024 && width <= tokens);
                CHECK(uint64_t{width} * (experts + ranks) * 4 <= 128 * 1024);
                CHECK((width - 1) * each < tokens);  // the last thread owns a token
            }
        }
    }
}

TEST(batches_fit_ub_at_every_shape) {
    const CommunicatorLimits limits = {1, 8, 8192, 16, 32, 0};
    const Machine machine = {0, 0, 0, 0, 8, 1};
    for (int64_t hidden = 64; hidden <= 8192; hidden += 16) {
        for (const int64_t topk : {1, 2, 8, 15, 16}) {
            DispatchCall d = sample_dispatch();
            d.x.shape = {8, hidden};
            d.expert_ids.shape = {8, topk};
            d.attributes.ep_world_size = 1;
            d.attributes.ep_rank_id = 0;
            d.attributes.moe_expert_num = 32;
            DispatchTiling dt;
            make_dispatch_tiling(limits, machine, d, {}, &dt);
            CHECK_EQ(dt.collect_batch, 4U);
            CombineCall c = sample_combine();
            c.expand_x.shape[1] = hidden;
            c.expert_ids.shape[1] = topk;
            c.attributes = d.attributes;
            CombineTiling ct;
            make_combine_tiling(limits, machine, CombineEngine::kMte, c, {}, &ct);
            const uint32_t row_blocks = blocks_for(static_cast<uint64_t>(hidden) * 2);
            CHECK(ct.reduce_blocks >= 1 && ct.reduce_blocks <= row_blocks);
            CHECK(ct.reduce_blocks * 480 * (topk + 1) <= 150 * 1024);
            CHECK(ct.reduce_blocks == row_blocks || (ct.reduce_blocks + 1) * 480 * (topk + 1) > 150 * 1024);
        }
    }
}

// Tiles of the columns, the sum, an addend, and two int8 tiles on their way to be decoded share the same UB.
TEST(tiles_of_int8_rows_fit_ub_at_every_shape) {
    const CommunicatorLimits limits = {4, 8, 8192, 16, 32, 4};
    const Machine machine = {0, 0, 0, 0, 8, 1};
    for (int64_t hidden = 64; hidden <= 8192; hidden += 16) {
        CombineCall c = sample_combine();
        c.expand_x.shape[1] = hidden;
        c.expert_ids.shape[1] = 16;
        c.comm_quant_mode = 2;
        c.shared_expert_x = c.expand_x;
        CombineTiling t;
        make_combine_tiling(limits, machine, CombineEngine::kMte, c, {11, 12, 13, 14, 15, 16, 0, 17}, &t);
        CHECK_EQ(t.is_int8, 1U);
        const uint32_t elements = t.reduce_blocks * 240;
        const uint32_t blocks = t.reduce_blocks * (16 + 2) + 2 * wire_tile_blocks(t.reduce_blocks);
        CHECK(t.reduce_blocks >= 1 && blocks * 480 <= 150 * 1024);
        CHECK_EQ(reduce_ub(t).bytes, uint64_t{blocks} * 480);
        // Values may begin in the middle of a block, scales at any byte of one.
        CHECK(wire_value_blocks(t.reduce_blocks) * 480 >= elements + 240);
        const uint32_t scale_bytes = (wire_tile_blocks(t.reduce_blocks) - wire_value_blocks(t.reduce_blocks)) * 480;
        CHECK(scale_bytes >= elements / 8 * 2 + 479);
    }
}
