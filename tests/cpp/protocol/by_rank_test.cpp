// SPDX-License-Identifier: Apache-2.0
// combine_reduce "rank": rows of a token that one rank has computed return as their sum. Bitwise against plain loops,
// in both policies, and what is refused. Layer: tests. docs/protocol.md, "Sums by rank".
#include "features.h"

namespace ascend_deepep::test {
namespace {

constexpr CombineEngine kMte = CombineEngine::kMte;
constexpr CombineEngine kUrma = CombineEngine::kUrma;
constexpr const char* kPolicies[] = {"fast", "sim"};

FeatureCase by_rank(const Case& base, bool has_weights = true) {
    FeatureCase c{base};
    c.has_weights = has_weights;
    c.sums_by_rank = true;
    return c;
}

void run_case(const FeatureCase& c, uint32_t rounds = 3) {
    for (const char* policy : kPolicies) {
        run_world(world_of(c, policy), [&](RankMachine& rank) {
            for (uint32_t round = 0; round < rounds; ++round)
                check_feature_round(rank, c, round);
        });
    }
}

TEST(rows_of_a_rank_return_as_one) {
    run_case(by_rank({3, 17, 6, 12, 80, 8}));
    run_case(by_rank({4, 9, 8, 32, 1040, 24, Routing::kHoles, kUrma, 4}));
    run_case(by_rank({2, 7, 4, 8, 1024, 4, Routing::kOneHot}, false));
    run_case(by_rank({1, 5, 4, 8, 64, 4}));
    run_case(by_rank({3, 6, 2, 6, 64, 4, Routing::kNone}));
    run_case(by_rank({4, 12, 4, 8, 256, 8, Routing::kUniform, kUrma, 64, true}));
}
TEST(rows_of_a_rank_are_summed_in_several_tiles) {
    run_case(by_rank({2, 3, 16, 32, 8192, 4}), 1);
    run_case(by_rank({2, 3, 16, 32, 8192, 4, Routing::kHoles, kUrma}), 1);
}
TEST(rows_of_a_rank_with_masks_and_shared_experts) {
    for (const CombineEngine engine : {kMte, kUrma}) {
        FeatureCase c = by_rank({5, 11, 3, 6, 80, 8, Routing::kHoles, engine, 4});
        c.shared_expert_num = 1;
        c.shared_expert_rank_num = 2;
        c.masking = Masking::kPairs;
        run_case(c);
        c = by_rank({3, 9, 4, 12, 80, 8, Routing::kUniform, engine});
        c.masking = Masking::kTokens;
        c.has_shared_x = true;
        run_case(c);
        c.masking = Masking::kNothing;
        run_case(c);
    }
}

// As many rows leave a rank as there are (token, rank) pairs.
TEST(partials_that_leave_are_counted) {
    for (const CombineEngine engine : {kMte, kUrma}) {
        const FeatureCase c = by_rank({2, 16, 4, 8, 64, 8, Routing::kUniform, engine});
        run_world(world_of(c, "fast"), [&](RankMachine& rank) {
            const Batch peer = make_feature_batch(c, 1 - rank.rank(), 1);
            uint64_t pairs = 0;
            for (uint32_t token = 0; token < peer.num_tokens; ++token) {
                bool is_here = false;
                for (uint32_t column = 0; column < peer.num_topk; ++column)
                    is_here |= expected_place(c, peer, 1 - rank.rank(), token, column).rank == rank.rank();
                pairs += is_here ? 1 : 0;
            }
            check_feature_round(rank, c, 1);
            CHECK_EQ(rank.fabric().traffic().rows, pairs);
            CHECK_EQ(rank.fabric().traffic().bytes_combine, pairs * kBlockBytes);
        });
    }
}

// As the kernels mix what they digest: a caller may do the same.
uint32_t mixed(uint32_t a, uint32_t b) {
    uint32_t word = (a * 0x9E3779B1U) ^ ((b + 0x7F4A7C15U) * 0x85EBCA77U);
    word = (word ^ (word >> 15)) * 0x2C1B3C6DU;
    return word ^ (word >> 12);
}

constexpr uint32_t kSpoiler = 1;

// `spoil` changes the chains [row][next, previous] of a rank; the digest is made to fit where it `is_forged`.
void expect_refused_chains(bool is_forged,
                           const std::function<void(const DispatchResult&, uint32_t*, uint32_t)>& spoil) {
    const FeatureCase c = by_rank({2, 6, 4, 8, 64, 8});
    for (const char* policy : kPolicies) {
        run_world(world_of(c, policy), [&](RankMachine& rank) {
            const Batch own = make_feature_batch(c, rank.rank(), 2);
            DispatchResult bad = rank.dispatch(own);
            const DispatchResult good = bad;
            const auto rows = static_cast<uint32_t>(bad.ep_recv_counts.back());
            const size_t trailer = align_up(uint64_t{bad.capacity_rows} * 3, 8);
            auto* chains = reinterpret_cast<uint32_t*>(&bad.assist_info[trailer + 8]);
            const auto digest = [&] {
                uint32_t sum = 0;
                for (uint32_t row = 0; row < rows; ++row)
                    sum += mixed(mixed(chains[2 * row], chains[2 * row + 1]), row);
                return sum;
            };
            auto& stored = reinterpret_cast<uint32_t&>(bad.assist_info[trailer + 6]);
            const uint32_t of_triples = stored - digest();
            if (rank.rank() == kSpoiler) spoil(bad, chains, rows);
            if (is_forged) stored = of_triples + digest();
            const OperationOutcome outcome = rank.combine(own, bad, good.expand_x).outcome;
            CHECK_EQ(outcome.code, Code::kForeignTriples);
            CHECK_EQ(outcome.refusal.rank, kSpoiler);
            CHECK_EQ(rank.combine(own, good, good.expand_x).outcome.code, Code::kOk);
        });
    }
}

uint32_t first_with_next(const uint32_t* chains, uint32_t rows) {
    uint32_t row = 0;
    while (row < rows && chains[2 * row] == 0)
        ++row;
    CHECK(row < rows);
    return row;
}

TEST(combine_refuses_chains_that_a_forged_digest_covers) {
    // The last row is left out, and is no chain of its own.
    expect_refused_chains(true, [](const DispatchResult&, uint32_t* chains, uint32_t rows) {
        chains[2 * first_with_next(chains, rows)] = 0;
    });
    // A row stands twice: in its chain, and alone.
    expect_refused_chains(true, [](const DispatchResult&, uint32_t* chains, uint32_t rows) {
        chains[2 * (chains[2 * first_with_next(chains, rows)] - 1) + 1] = 0;
    });
    // Beyond the rows.
    expect_refused_chains(true, [](const DispatchResult&, uint32_t* chains, uint32_t rows) { chains[0] = rows + 1; });
    expect_refused_chains(true, [](const DispatchResult&, uint32_t* chains, uint32_t) { chains[1] = 0xFFFFFFFFU; });
    // A row behind itself.
    expect_refused_chains(true, [](const DispatchResult&, uint32_t* chains, uint32_t) { chains[0] = chains[1] = 1; });
    // The chains of two tokens become one.
    expect_refused_chains(true, [](const DispatchResult& got, uint32_t* chains, uint32_t rows) {
        uint32_t end = 0;
        while (chains[2 * end] != 0)
            ++end;
        uint32_t head = 0;
        while (head < rows &&
               (chains[2 * head + 1] != 0 || got.assist_info[3 * head + 1] == got.assist_info[3 * end + 1]))
            ++head;
        CHECK(head < rows);
        chains[2 * end] = head + 1;
        chains[2 * head + 1] = end + 1;
    });
}

// Two good chains, and yet not what dispatch gave out: only the digest sees it.
TEST(combine_refuses_a_chain_that_was_cut) {
    expect_refused_chains(false, [](const DispatchResult&, uint32_t* chains, uint32_t rows) {
        const uint32_t row = first_with_next(chains, rows);
        chains[2 * (chains[2 * row] - 1) + 1] = 0;
        chains[2 * row] = 0;
    });
}

TEST(combine_refuses_weights_that_dispatch_did_not_get) {
    const FeatureCase c = by_rank({2, 6, 4, 8, 64, 8});
    run_world(world_of(c, "sim"), [&](RankMachine& rank) {
        const Batch own = make_feature_batch(c, rank.rank(), 2);
        Batch plain = own;
        plain.features.has_weights = false;
        const DispatchResult got = rank.dispatch(plain);
        const OperationOutcome outcome = rank.combine(own, got, got.expand_x).outcome;
        CHECK_EQ(outcome.code, Code::kMissing);
        CHECK_EQ(outcome.refusal.field, Field::kExpandScales);
        check_feature_round(rank, c, 3);
    });
}

TEST(ranks_that_weigh_and_ranks_that_do_not_are_refused) {
    const FeatureCase c = by_rank({3, 6, 4, 12, 64, 8});
    run_world(world_of(c, "sim"), [&](RankMachine& rank) {
        Batch own = make_feature_batch(c, rank.rank(), 2);
        const DispatchResult got = rank.dispatch(own);
        if (rank.rank() == 2) own.scales.clear();
        if (rank.rank() == 2) own.has_scales = false;
        const OperationOutcome outcome = rank.combine(own, got, got.expand_x).outcome;
        CHECK_EQ(outcome.code, Code::kSignature);
        CHECK_EQ(outcome.refusal.field, Field::kHasExpertScales);
        check_feature_round(rank, c, 3);
    });
}

}  // namespace
}  // namespace ascend_deepep::test
