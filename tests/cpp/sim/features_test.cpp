// SPDX-License-Identifier: Apache-2.0
// Features of calls: what the oracle makes of masks and shared experts by published and hand-made examples, what the
// checkers say, and that calls stay legal when ranks change. Layer: tests.
#include "check.h"
#include "framework/runtime/kernel_library.h"
#include "simulator/scenario/checks/results.h"
#include "simulator/scenario/draw_features.h"
#include "simulator/scenario/inputs.h"
#include "simulator/scenario/oracle.h"
#include "simulator/scenario/overrides.h"
#include "simulator/scenario/runner.h"

namespace ascend_deepep::test {
namespace {

using namespace simulator;

// One column, no payload to speak of.
Batch batch_of(uint32_t rank, std::vector<int32_t> ids, uint32_t num_topk, uint32_t num_experts, const Features& f) {
    Batch batch;
    batch.rank = rank;
    batch.num_tokens = batch.max_tokens = static_cast<uint32_t>(ids.size()) / num_topk;
    batch.hidden = 1;
    batch.num_topk = num_topk;
    batch.num_experts = num_experts;
    batch.features = f;
    batch.expert_ids = std::move(ids);
    batch.x.assign(batch.num_tokens, 0x3F80);
    return batch;
}

// The documentation's example of two ranks.
TEST(rows_are_in_the_published_order) {
    const std::vector<Batch> batches{batch_of(0, {0, 2, 2, 3}, 2, 4, {}), batch_of(1, {1, 0, 3, 2}, 2, 4, {})};
    const ExpectedRows first = expected_dispatch(batches, 4, 0), second = expected_dispatch(batches, 4, 1);
    CHECK((first.triples == std::vector<int32_t>{0, 0, 0, 1, 0, 1, 1, 0, 0}));
    CHECK((second.triples == std::vector<int32_t>{0, 0, 1, 0, 1, 0, 1, 1, 1, 0, 1, 1, 1, 1, 0}));
    CHECK((first.counts == std::vector<int32_t>{1, 2, 2, 3}));
    CHECK((second.counts == std::vector<int32_t>{2, 3, 4, 5}));
    CHECK((first.token_nums == std::vector<int64_t>{2, 1}));
}

// And of a shared expert with two replicas before two ranks of routed ones.
TEST(shared_experts_come_first_and_serve_by_the_senders_number) {
    Features f;
    f.shared_experts = 1;
    f.shared_ranks = 2;
    std::vector<Batch> batches;
    for (uint32_t rank = 0; rank < 4; ++rank)
        batches.push_back(batch_of(rank, {rank == 1 || rank == 2 ? 1 : 0}, 1, 2, f));
    const std::vector<std::vector<int32_t>> triples{
        {0, 0, 1, 2, 0, 1}, {1, 0, 1, 3, 0, 1}, {0, 0, 0, 3, 0, 0}, {1, 0, 0, 2, 0, 0}};
    const std::vector<std::vector<int32_t>> counts{{1, 1, 2, 2}, {0, 1, 1, 2}, {1, 1, 1, 2}, {0, 1, 2, 2}};
    for (int rank = 0; rank < 4; ++rank) {
        const ExpectedRows rows = expected_dispatch(batches, 2, rank);
        CHECK(rows.triples == triples[rank]);
        CHECK(rows.counts == counts[rank]);
    }
    f.has_sums = true;
    batches[0].features = f;
    CHECK((expected_dispatch(batches, 2, 2).token_nums == std::vector<int64_t>{2}));
}

// Rank 0 of two with two experts each: tokens {0, 1}, {2, 0}, {2, 3}.
TEST(copies_are_counted_by_rank_or_by_expert) {
    const auto copies = [](Features f, std::vector<uint8_t> mask, int peer) {
        Batch batch = batch_of(0, {0, 1, 2, 0, 2, 3}, 2, 4, f);
        batch.mask = std::move(mask);
        return expected_copies(batch, 2, 4, peer);
    };
    Features per_rank, per_expert, of_tokens, of_pairs;
    per_expert.copies = CopyMode::kPerExpert;
    of_tokens.mask = MaskKind::kTokens;
    of_pairs.mask = MaskKind::kPairs;
    CHECK_EQ(copies(per_rank, {}, 0), uint64_t{2});
    CHECK_EQ(copies(per_rank, {}, 1), uint64_t{2});
    CHECK_EQ(copies(per_expert, {}, 0), uint64_t{3});
    CHECK_EQ(copies(per_expert, {}, 1), uint64_t{3});
    CHECK_EQ(copies(of_tokens, {0, 1, 1}, 1), uint64_t{2});
    CHECK_EQ(copies(of_tokens, {1, 0, 1}, 0), uint64_t{1});
    CHECK_EQ(copies(of_tokens, {0, 0, 0}, 0), uint64_t{0});
    CHECK_EQ(copies(of_pairs, {0, 0, 1, 0, 0, 1}, 1), uint64_t{2});
    CHECK_EQ(copies(of_pairs, {0, 0, 1, 0, 0, 1}, 0), uint64_t{0});
}

// A shared expert takes active tokens once, whatever their choices.
TEST(shared_experts_take_active_tokens) {
    Features f;
    f.shared_experts = 2;
    f.shared_ranks = 4;  // 0 and 1 serve the first, 2 and 3 the second
    f.mask = MaskKind::kPairs;
    Batch batch = batch_of(5, {-1, 0, 1, 0}, 2, 2, f);
    batch.mask = {1, 0, 0, 0};
    for (int peer = 0; peer < 6; ++peer)
        CHECK_EQ(expected_copies(batch, 6, 2, peer), uint64_t{peer == 1 || peer == 3 ? 1U : 0U});
    CHECK_EQ(factor_row(f, 2, 2 + 1), 1);
    CHECK_EQ(factor_row(f, 2, 0), 2);
}

TEST(performance_info_grows_by_no_more_than_the_call) {
    Batch batch;
    batch.performance_info = {0, 7, 900};
    CHECK(performance_fault(batch, {0, 7, 900}, 5000).empty());
    CHECK(performance_fault(batch, {5, 7, 900}, 5000).empty());
    CHECK(performance_fault(batch, {6, 7, 900}, 5000).find("performance_info[0] was 0 and is 6") != std::string::npos);
    CHECK(performance_fault(batch, {0, 6, 900}, 50000).find("performance_info[1]") != std::string::npos);
    CHECK(performance_fault(batch, {0, 7, 905}, 5000).find("performance_info[2]") != std::string::npos);
    CHECK(performance_fault(batch, {}, 0).empty());
}

// A rank that comes late is the one that the other has waited for, in microseconds and in both operators.
TEST(performance_info_names_a_late_rank) {
    constexpr int64_t kLateUs = 10'000, kSoonUs = 30'000;
    SeedOptions options;
    options.keeps_outputs = true;
    options.settings = {
        {"ranks", "2"},      {"cores", "4"},           {"performance", "1"}, {"second", "0"}, {"fault", "late-process"},
        {"fault_rank", "1"}, {"fault_ns", "10000000"}, {"operations", "D,C"}};
    uint32_t seen = 0;
    for (uint64_t seed = 1; seed <= 20; ++seed) {
        const SeedResult result = run_seed(seed, options, kernel_table("sim"));
        CHECK(result.findings.empty());
        for (const Output& output : result.outputs) {
            if (output.rank != 0 || !output.played.has_dispatched) continue;
            const int64_t waited = output.played.dispatched.performance_info[1];
            CHECK(waited >= kLateUs - kLateUs / 10);
            seen += waited <= kSoonUs ? 1 : 0;  // else it was longer before
        }
    }
    CHECK(seen >= 10);
}

// Floats of two bytes round to the nearest, to the even one of two, and to infinity behind the largest.
TEST(two_byte_floats_round_as_they_should) {
    CHECK_EQ(half_bits(Dtype::kBf16, 1.00390625F), 0x3F80);  // half way from 1 to the next one
    CHECK_EQ(half_bits(Dtype::kBf16, 1.01171875F), 0x3F82);
    CHECK_EQ(half_bits(Dtype::kFp16, 65519.0F), 0x7BFF);
    CHECK_EQ(half_bits(Dtype::kFp16, 65520.0F), 0x7C00);
    CHECK_EQ(half_bits(Dtype::kFp16, -5.9604645e-8F), 0x8001);
    CHECK_EQ(half_bits(Dtype::kFp16, 2.9802322e-8F), 0);
    for (uint32_t bits = 0; bits <= 0xFFFF; ++bits) {
        for (Dtype dtype : {Dtype::kBf16, Dtype::kFp16}) {
            const float value = half_value(dtype, static_cast<uint16_t>(bits));
            if (!std::isnan(value)) CHECK_EQ(half_bits(dtype, value), static_cast<uint16_t>(bits));
        }
    }
}

// Of every drawn world, whatever features it has, with any number of ranks.
TEST(calls_stay_legal_between_fewer_ranks) {
    for (uint64_t seed = 1; seed <= 300; ++seed) {
        const Scenario drawn = make_scenario(seed, SeedOptions{});
        for (uint32_t ranks = 1; ranks <= drawn.world.limits.num_ranks; ++ranks) {
            Scenario fewer = drawn;
            fewer.world.fault = {};
            fewer.operations.resize(1);
            fewer.operations[0].actor = 0;
            fit_ranks(ranks, &fewer.world.limits, &fewer);
            check_scenario(fewer);
            CHECK_EQ(experts_per_rank(fewer.world.limits, fewer), experts_per_rank(drawn.world.limits, drawn));
        }
    }
}

}  // namespace
}  // namespace ascend_deepep::test
