// SPDX-License-Identifier: Apache-2.0
// dispatch_v2 with every quantisation and combine_v2 with rows as int8, against the model of tests/cpp/quant, in both
// policies. Layer: tests.
#include "quantised.h"

#include "op_host/check.h"
#include "op_host/quant.h"

namespace ascend_deepep::test {
namespace {

// Output buffers of a dispatch, poisoned.
struct Outputs {
    std::vector<uint8_t> rows, scales;
    std::vector<int32_t> triples, counts;
    std::vector<int64_t> token_nums;
    int64_t capacity_rows = 0;
};

// Runs the round's dispatch on a rank and compares all that it writes.
Outputs check_dispatch_round(RankMachine& rank, const Round& round, const CommunicatorLimits& limits, uint32_t seed) {
    const op_host::DispatchCall call = dispatch_call(round, limits, rank.rank());
    op_host::DispatchShapes shapes;
    if (!op_host::check_dispatch(limits, rank.rank(), call, &shapes).ok()) throw std::runtime_error("refused");
    const op_host::QuantPlan plan = op_host::quant_plan(call);
    Outputs got;
    got.capacity_rows = shapes.capacity_rows;
    got.rows.assign(static_cast<size_t>(shapes.capacity_rows * plan.payload_bytes), 0x7B);
    got.scales.assign(static_cast<size_t>(shapes.capacity_rows * plan.scale_bytes), 0x7B);
    got.triples.assign(static_cast<size_t>(shapes.assist_info), -7);
    got.counts.assign(static_cast<size_t>(shapes.ep_recv_counts), -7);
    got.token_nums.assign(static_cast<size_t>(shapes.expert_token_nums), -7);
    const std::vector<float>& scales = round.c.scale_columns != 0 ? round.scales[rank.rank()] : round.factors;
    const Batch& batch = round.batches[rank.rank()];
    op_host::DispatchAddresses addresses{};
    addresses.x = address(round.x[rank.rank()].data());
    addresses.expert_ids = address(batch.expert_ids.data());
    addresses.scales = scales.empty() ? 0 : address(scales.data());
    addresses.expand_x = address(got.rows.data());
    addresses.dynamic_scales = address(got.scales.data());
    addresses.assist_info = address(got.triples.data());
    addresses.ep_recv_counts = address(got.counts.data());
    addresses.expert_token_nums = address(got.token_nums.data());
    const OperationOutcome outcome =
        rank.dispatch(call, addresses,
                      {range(round.x[rank.rank()]), range(batch.expert_ids), range(scales), range(got.rows),
                       range(got.scales), range(got.triples), range(got.counts), range(got.token_nums)});
    CHECK_EQ(outcome.code, Code::kOk);
    const Received want = received_by(round, rank.rank(), seed);
    CHECK_EQ(outcome.num_rows, static_cast<uint32_t>(want.triples.size() / 3));
    CHECK(got.counts == want.counts);
    CHECK(std::equal(want.triples.begin(), want.triples.end(), got.triples.begin()));
    CHECK(std::equal(want.rows.begin(), want.rows.end(), got.rows.begin()));
    CHECK(std::equal(want.scales.begin(), want.scales.end(), got.scales.begin()));
    const auto is_poison = [](uint8_t byte) { return byte == 0x7B; };
    CHECK(std::all_of(got.rows.begin() + static_cast<int64_t>(want.rows.size()), got.rows.end(), is_poison));
    CHECK(std::all_of(got.scales.begin() + static_cast<int64_t>(want.scales.size()), got.scales.end(), is_poison));
    return got;
}

void check_combine_round(RankMachine& rank, const Round& round, const CommunicatorLimits& limits, uint32_t seed,
                         const Outputs& dispatched) {
    const QuantCase& c = round.c;
    const Batch& batch = round.batches[rank.rank()];
    std::vector<uint16_t> expert_out(static_cast<size_t>(dispatched.capacity_rows) * c.shape.hidden, 0xFFFF);
    for (int32_t row = 0; row < dispatched.counts.back(); ++row) {
        const int32_t* triple = dispatched.triples.data() + size_t(row) * 3;
        const std::vector<uint16_t> values = expert_row(c, seed, triple[0], triple[1], triple[2]);
        std::copy(values.begin(), values.end(), expert_out.begin() + int64_t{row} * c.shape.hidden);
    }
    op_host::CombineCall call;
    call.expand_x = tensor(c.dtype, {dispatched.capacity_rows, c.shape.hidden});
    call.expert_ids = tensor(Dtype::kInt32, {batch.num_tokens, batch.num_topk});
    call.assist_info_for_combine = tensor(Dtype::kInt32, {static_cast<int64_t>(dispatched.triples.size())});
    call.ep_send_counts = tensor(Dtype::kInt32, {static_cast<int64_t>(dispatched.counts.size())});
    call.expert_scales = tensor(Dtype::kFp32, {batch.num_tokens, batch.num_topk});
    call.attributes = attributes_of(c, limits, rank.rank(), batch);
    call.comm_quant_mode = c.is_int8 ? 2 : 0;
    std::vector<uint16_t> out(size_t{batch.num_tokens} * c.shape.hidden, 0x7F7F);
    op_host::CombineAddresses addresses{};
    addresses.expand_x = address(expert_out.data());
    addresses.expert_ids = address(batch.expert_ids.data());
    addresses.assist_info = address(dispatched.triples.data());
    addresses.ep_send_counts = address(dispatched.counts.data());
    addresses.expert_scales = address(batch.scales.data());
    addresses.x_out = address(out.data());
    const OperationOutcome outcome =
        rank.combine(call, addresses,
                     {range(expert_out), range(batch.expert_ids), range(dispatched.triples), range(dispatched.counts),
                      range(batch.scales), range(out)});
    CHECK_EQ(outcome.code, Code::kOk);
    for (uint16_t& code : out)
        code = fold_nan(code, format_of(c.dtype));
    CHECK(out == combined(c, batch, rank.rank(), seed));
}

void run_quantised(const QuantCase& c, uint32_t rounds = 3) {
    for (const char* policy : {"fast", "sim"}) {
        WorldOptions options = world_of(c.shape, policy);
        options.limits.shared_expert_num = c.shared_experts;
        options.limits.per_expert_copies = c.is_forced_per_expert || c.factors == Factors::kPerExpert ? 1 : 0;
        std::vector<Round> made;
        for (uint32_t seed = 0; seed < rounds; ++seed)
            made.push_back(make_round(c, seed));
        run_world(options, [&](RankMachine& rank) {
            for (uint32_t seed = 0; seed < rounds; ++seed) {
                const Outputs got = check_dispatch_round(rank, made[seed], options.limits, seed);
                if (c.dtype != Dtype::kE4m3) check_combine_round(rank, made[seed], options.limits, seed, got);
            }
        });
    }
}

constexpr Case kSmall{2, 9, 3, 6, 1056, 8, Routing::kHoles};
constexpr Case kShort{3, 7, 2, 6, 80, 5};
constexpr CombineEngine kUrma = CombineEngine::kUrma;

TEST(every_family_in_both_types) {
    for (const Family& f : kFamilies) {
        const Factors factors = f.quant == Quant::kStaticInt8 ? Factors::kScalar : Factors::kNone;
        run_quantised({kSmall, f.quant, Dtype::kBf16, factors}, 2);
        run_quantised({kShort, f.quant, Dtype::kFp16, factors}, 2);
    }
}

// The header of 7680 bytes of payload begins a block: nothing is left for the second pass over a token.
TEST(payload_that_ends_with_a_block) {
    run_quantised({{2, 5, 2, 4, 7680, 8}, Quant::kStaticInt8, Dtype::kBf16, Factors::kRow});
}

TEST(static_factors_of_a_row) {
    run_quantised({kSmall, Quant::kStaticInt8, Dtype::kFp16, Factors::kRow});
}

TEST(widest_rows) {
    run_quantised({{2, 4, 16, 32, 8192, 8}, Quant::kGroupE4m3, Dtype::kBf16, Factors::kNone, 0, false, true}, 2);
    run_quantised({{2, 4, 4, 8, 8192, 8}, Quant::kMxE5m2, Dtype::kFp16, Factors::kNone, 0, false, true}, 2);
    run_quantised({{2, 3, 4, 8, 8192, 8, Routing::kUniform, kUrma},
                   Quant::kTokenInt8,
                   Dtype::kBf16,
                   Factors::kPerExpert,
                   0,
                   false,
                   true},
                  2);
    run_quantised({{8, 2, 16, 16, 8192, 8}, Quant::kNone, Dtype::kBf16, Factors::kNone, 0, false, true, 4, 4}, 1);
}

TEST(scales_travel_with_rows) {
    run_quantised({kSmall, Quant::kNone, Dtype::kE4m3, Factors::kNone, 9});
    run_quantised({kShort, Quant::kNone, Dtype::kE4m3, Factors::kNone, 1});
    run_quantised({{2, 6, 2, 4, 480, 8}, Quant::kNone, Dtype::kE4m3, Factors::kNone, 60});
}

TEST(combine_int8_by_both_engines) {
    for (Dtype dtype : {Dtype::kBf16, Dtype::kFp16}) {
        for (uint32_t hidden : {64U, 80U, 1056U, 7168U}) {
            Case shape{2, 6, 3, 6, hidden, 8, Routing::kHoles};
            run_quantised({shape, Quant::kNone, dtype, Factors::kNone, 0, false, true}, 2);
            shape.engine = kUrma;
            run_quantised({shape, Quant::kTokenInt8, dtype, Factors::kNone, 0, false, true}, 2);
        }
    }
}

TEST(factors_of_each_expert) {
    for (const Family& f : kFamilies) {
        const bool takes_factors = f.mode >= 1 && f.mode <= 3;
        if (!takes_factors) continue;
        run_quantised({kSmall, f.quant, Dtype::kBf16, Factors::kPerExpert}, 2);
        run_quantised({kShort, f.quant, Dtype::kFp16, Factors::kPerExpert}, 2);
    }
}

// Rows of factors: shared experts first, then the routed ones; both kinds of rank and of column.
TEST(factors_of_shared_experts) {
    const Case shape{6, 7, 3, 8, 1056, 8, Routing::kHoles};
    run_quantised({shape, Quant::kTokenInt8, Dtype::kBf16, Factors::kPerExpert, 0, false, true, 2, 4}, 2);
    run_quantised({shape, Quant::kStaticInt8, Dtype::kFp16, Factors::kPerExpert, 0, false, false, 1, 2}, 2);
    run_quantised({shape, Quant::kGroupE5m2, Dtype::kBf16, Factors::kNone, 0, false, true, 2, 2}, 2);
}

// Copies that could be one are made for each expert when the caller asks for them.
TEST(copies_of_each_expert) {
    for (const Quant quant : {Quant::kNone, Quant::kTokenE4m3, Quant::kMxE4m3})
        run_quantised({kSmall, quant, Dtype::kBf16, Factors::kNone, 0, true, true}, 2);
    run_quantised({kShort, Quant::kStaticInt8, Dtype::kBf16, Factors::kScalar, 0, true});
    run_quantised({kShort, Quant::kNone, Dtype::kE4m3, Factors::kNone, 3, true});
}

TEST(quantised_rows_of_uneven_ranks) {
    Case shape{4, 12, 3, 8, 256, 8, Routing::kUniform, kUrma, 4, true};
    run_quantised({shape, Quant::kMxE4m3, Dtype::kBf16, Factors::kNone, 0, false, true});
    shape.tokens = 0;
    run_quantised({shape, Quant::kTokenE4m3, Dtype::kBf16, Factors::kNone, 0, false, true});
}

}  // namespace
}  // namespace ascend_deepep::test
