// SPDX-License-Identifier: Apache-2.0
// Masks, shared experts and weights through all roles, bitwise against plain loops, in both policies. Layer: tests.
#include "features.h"

namespace ascend_deepep::test {
namespace {

constexpr CombineEngine kMte = CombineEngine::kMte;
constexpr CombineEngine kUrma = CombineEngine::kUrma;

void run_case(const FeatureCase& c, uint32_t rounds = 3) {
    for (const char* policy : {"fast", "sim"}) {
        run_world(world_of(c, policy), [&](RankMachine& rank) {
            for (uint32_t round = 0; round < rounds; ++round)
                check_feature_round(rank, c, round);
        });
    }
}

TEST(a_mask_of_tokens) {
    run_case({{3, 17, 4, 12, 80, 8}, 0, 0, Masking::kTokens});
    run_case({{2, 9, 3, 8, 1040, 4, Routing::kHoles, kUrma, 4}, 0, 0, Masking::kTokens, true});
}
TEST(a_mask_of_pairs_with_holes) {
    run_case({{3, 17, 4, 12, 80, 8}, 0, 0, Masking::kPairs});
    run_case({{4, 9, 8, 32, 64, 24, Routing::kHoles, kUrma, 4}, 0, 0, Masking::kPairs, true});
}
TEST(everything_is_masked) {
    run_case({{3, 6, 2, 6, 64, 4}, 0, 0, Masking::kNothing, true, true});
    run_case({{3, 6, 2, 6, 64, 4}, 1, 1, Masking::kNothing, true});
}
TEST(weights_travel) {
    run_case({{2, 7, 2, 4, 1024, 8}, 0, 0, Masking::kNone, true});
    run_case({{3, 33, 4, 12, 80, 13, Routing::kHoles, kUrma, 4}, 0, 0, Masking::kNone, true});
    run_case({{2, 5, 16, 32, 480, 8}, 0, 0, Masking::kPairs, true});
}
TEST(one_shared_expert) {
    run_case({{2, 7, 2, 4, 64, 4}, 1, 1});
    run_case({{3, 7, 3, 8, 64, 8, Routing::kHoles, kUrma}, 1, 2, Masking::kPairs, true});
}
// The number of ranks need not be a multiple of a shared expert's replicas.
TEST(replicas_of_shared_experts) {
    for (uint32_t ranks : {5U, 6U, 7U}) {
        const uint32_t experts = 2 * (ranks - 4);
        const uint32_t topk = experts < 3 ? experts : 3;
        run_case({{ranks, 11, topk, experts, 80, 8}, 2, 4, Masking::kTokens, true});
        run_case({{ranks, 11, topk, experts, 80, 8, Routing::kHoles, kUrma, 4}, 2, 4});
    }
}
TEST(as_many_shared_experts_as_there_can_be) {
    run_case({{5, 6, 4, 9, 64, 5, Routing::kHoles}, 4, 4, Masking::kPairs, true});
    run_case({{6, 6, 16, 64, 1040, 24, Routing::kUniform, kUrma}, 4, 4, Masking::kNone, true});
}
TEST(shared_experts_with_uneven_batches) {
    run_case({{4, 12, 3, 8, 256, 8, Routing::kUniform, kUrma, 64, true}, 1, 2, Masking::kTokens, true});
    run_case({{3, 12, 3, 8, 256, 72, Routing::kUniform, kMte, 64, true}, 1, 1, Masking::kPairs});
}
// A token without a choice is active all the same.
TEST(shared_experts_of_tokens_without_a_choice) {
    run_case({{3, 6, 2, 4, 64, 4, Routing::kNone}, 1, 1});
    run_case({{3, 6, 2, 4, 64, 4, Routing::kNone}, 2, 2, Masking::kTokens, true});
}
TEST(shared_experts_and_no_tokens_at_all) {
    run_case({{3, 0, 2, 6, 64, 4}, 1, 1, Masking::kNone, true});
}
TEST(a_shared_expert_computed_at_home) {
    run_case({{2, 9, 3, 8, 80, 8, Routing::kHoles}, 0, 0, Masking::kNone, false, true});
    run_case({{3, 9, 3, 12, 1040, 8, Routing::kHoles, kUrma}, 0, 0, Masking::kPairs, false, true});
    run_case({{2, 5, 1, 4, 8192, 4, Routing::kNone}, 0, 0, Masking::kTokens, false, true});
}
TEST(largest_batch_with_shared_experts) {
    const FeatureCase one{{2, 8192, 16, 1024, 64, 72, Routing::kUniform, kUrma}, 1, 1, Masking::kPairs, true};
    run_world(world_of(one, "fast"), [&](RankMachine& rank) { check_feature_round(rank, one, 0); });
    const FeatureCase four{{5, 40, 16, 256, 8192, 24}, 4, 4, Masking::kTokens, true};
    run_world(world_of(four, "fast"), [&](RankMachine& rank) { check_feature_round(rank, four, 0); });
}

// A copy for each expert: results are those of a copy for each rank.
TEST(copies_per_expert) {
    run_case({{1, 5, 3, 8, 64, 4}, 0, 0, Masking::kNone, true, false, kPerExpert});
    run_case({{2, 9, 8, 16, 1040, 8, Routing::kUniform, kUrma, 4}, 0, 0, Masking::kNone, false, false, kPerExpert});
    run_case({{3, 33, 4, 12, 80, 13, Routing::kHoles}, 0, 0, Masking::kTokens, true, true, kPerExpert});
    run_case({{4, 20, 2, 8, 128, 7, Routing::kOneHot, kUrma}, 0, 0, Masking::kPairs, false, false, kPerExpert});
    run_case({{3, 6, 2, 6, 64, 4, Routing::kNone}, 0, 0, Masking::kNone, true, false, kPerExpert});
    run_case({{3, 6, 2, 6, 64, 4}, 0, 0, Masking::kNothing, true, false, kPerExpert});
    run_case({{3, 0, 2, 6, 64, 4}, 0, 0, Masking::kNone, true, false, kPerExpert});
}
TEST(copies_per_expert_and_shared_experts) {
    run_case({{5, 11, 3, 6, 80, 8, Routing::kHoles, kUrma, 4}, 2, 4, Masking::kPairs, true, false, kPerExpert});
    run_case({{7, 11, 3, 12, 480, 24}, 1, 3, Masking::kTokens, true, false, kPerExpert});
    run_case({{5, 6, 16, 32, 64, 5, Routing::kUniform, kUrma}, 4, 4, Masking::kPairs, true, false, kPerExpert});
    run_case(
        {{4, 12, 3, 8, 256, 72, Routing::kUniform, kMte, 64, true}, 1, 2, Masking::kTokens, true, false, kPerExpert});
}
TEST(most_copies_per_expert) {
    const FeatureCase c{
        {2, 2048, 16, 1024, 64, 72, Routing::kUniform, kUrma}, 1, 1, Masking::kNone, true, false, kPerExpert};
    run_world(world_of(c, "fast"), [&](RankMachine& rank) { check_feature_round(rank, c, 0); });
}

// Both kinds of copies on one communicator, and ranks that do not agree on the kind.
TEST(copies_per_rank_and_per_expert_in_turn) {
    const FeatureCase c{{3, 9, 4, 12, 80, 8, Routing::kHoles, kUrma}, 1, 1, Masking::kPairs, true, false, kPerExpert};
    for (const char* policy : {"fast", "sim"}) {
        run_world(world_of(c, policy), [&](RankMachine& rank) {
            for (uint32_t round = 0; round < 6; ++round) {
                FeatureCase turn = c;
                if (round % 2 != 0) turn.copies = CopyMode::kPerRank;
                check_feature_round(rank, turn, round);
            }
            Batch own = make_feature_batch(c, rank.rank(), 6);
            if (rank.rank() == 2) own.features.copies = CopyMode::kPerRank;
            const DispatchResult got = rank.dispatch(own);
            CHECK_EQ(got.outcome.code, Code::kSignature);
            CHECK_EQ(got.outcome.refusal.field, Field::kCopyMode);
            check_feature_round(rank, c, 7);
        });
    }
}

// A copy for each pair moves as many blocks as there are rows; a copy for each rank fewer.
TEST(copies_per_expert_are_one_for_each_row) {
    uint64_t bytes[2] = {};
    for (const bool is_per_expert : {false, true}) {
        FeatureCase c{{2, 8, 4, 8, 64, 8}, 0, 0, Masking::kNone, false, false, kPerExpert};
        const WorldOptions options = world_of(c, "fast");
        if (!is_per_expert) c.copies = CopyMode::kPerRank;
        run_world(options, [&](RankMachine& rank) {
            const Batch own = make_feature_batch(c, rank.rank(), 1);
            rank.dispatch(own);
            if (rank.rank() != 0) return;
            uint64_t rows = 0, tokens = 0;
            for (uint32_t token = 0; token < 8; ++token) {
                const auto ids = own.expert_ids.begin() + token * 4;
                const auto remote = std::count_if(ids, ids + 4, [](int32_t id) { return id >= 4; });
                rows += static_cast<uint64_t>(remote);
                tokens += remote != 0 ? 1 : 0;
            }
            bytes[is_per_expert ? 1 : 0] = rank.fabric().traffic().bytes_dispatch;
            CHECK_EQ(rank.fabric().traffic().bytes_dispatch, (is_per_expert ? rows : tokens) * kBlockBytes);
        });
    }
    CHECK(bytes[0] < bytes[1]);
}

// Rounds of different features follow each other without a barrier.
TEST(features_come_and_go) {
    constexpr FeatureCase kWidest{{6, 8, 4, 16, 128, 8}, 2, 4};
    for (const char* policy : {"fast", "sim"}) {
        run_world(world_of(kWidest, policy), [&](RankMachine& rank) {
            for (uint32_t round = 0; round < 12; ++round) {
                FeatureCase c = kWidest;
                c.base.topk = 1 + round % 4;
                if (round % 3 == 1) c.shared_expert_num = 1;
                if (round % 3 == 1) c.shared_expert_rank_num = 2;
                if (round % 3 == 2) c.base.experts = 12;
                if (round % 3 == 2) c.shared_expert_num = c.shared_expert_rank_num = 0;
                c.masking = static_cast<Masking>(round % 4);
                c.has_weights = round % 2 == 0;
                c.has_shared_x = round % 3 == 2;
                check_feature_round(rank, c, round);
            }
        });
    }
}

FeatureCase random_case(uint32_t seed) {
    std::mt19937 random(seed);
    const auto one_of = [&random](uint32_t count) { return static_cast<uint32_t>(random() % count); };
    FeatureCase c;
    c.shared_expert_num = one_of(2) * one_of(5);
    c.shared_expert_rank_num = c.shared_expert_num * (1 + one_of(2));
    c.base.num_ranks = c.shared_expert_rank_num + 1 + one_of(4);
    c.base.experts = (c.base.num_ranks - c.shared_expert_rank_num) * (1 + one_of(5));
    c.base.topk = 1 + one_of(std::min(c.base.experts, kMaxTopk));
    c.base.tokens = one_of(24);
    c.base.hidden = kMinHidden + 16 * one_of(70);
    c.base.cores = kMinCores + one_of(21);
    c.base.routing = one_of(3) == 0 ? Routing::kUniform : Routing::kHoles;
    c.base.engine = one_of(2) == 0 ? kMte : kUrma;
    c.base.queue_depth = 4U << one_of(3);
    c.base.is_uneven = one_of(3) == 0;
    c.base.queues_per_peer = 1 + one_of(kMaxQueuesPerPeer);
    c.masking = static_cast<Masking>(one_of(4));
    c.has_weights = one_of(2) == 0;
    c.has_shared_x = c.shared_expert_num == 0 && one_of(2) == 0;
    c.copies = one_of(2) == 0 ? kPerExpert : CopyMode::kPerRank;
    return c;
}
TEST(random_features) {
    for (uint32_t seed = 0; seed < 40; ++seed) {
        const FeatureCase c = random_case(seed);
        const int before = check::failures();
        run_case(c, 2);
        if (check::failures() != before) std::fprintf(stderr, "random_features: seed %u\n", seed);
    }
}

constexpr FeatureCase kMasked{{3, 6, 2, 6, 128, 8}, 0, 0, Masking::kPairs};

// Every rank dispatches with masks; rank 1 combines with another one, as `change` makes it.
void expect_other_ids(const FeatureCase& c, const std::function<void(Batch&)>& change) {
    for (const char* policy : {"fast", "sim"}) {
        run_world(world_of(c, policy), [&](RankMachine& rank) {
            Batch own = make_feature_batch(c, rank.rank(), 4);
            const DispatchResult dispatched = rank.dispatch(own);
            if (rank.rank() == 1) change(own);
            const OperationOutcome outcome = rank.combine(own, dispatched, dispatched.expand_x).outcome;
            CHECK_EQ(outcome.code, Code::kOtherIds);
            CHECK_EQ(outcome.refusal.rank, 1U);
            check_feature_round(rank, c, 5);
        });
    }
}

TEST(combine_refuses_another_mask) {
    // A pair that was live is masked; one that was masked is live.
    for (const bool was_live : {true, false}) {
        expect_other_ids(kMasked, [was_live](Batch& own) {
            std::vector<uint8_t>& mask = own.mask;
            const size_t pair = static_cast<size_t>(
                std::find_if(mask.begin(), mask.end(), [=](uint8_t v) { return (v != 0) == was_live; }) - mask.begin());
            mask[pair] = was_live ? 0 : 1;
            own.expert_ids[pair] = own.expert_ids[pair ^ 1] == 5 ? 4 : 5;
        });
    }
    expect_other_ids({{3, 6, 2, 6, 128, 8}, 0, 0, Masking::kTokens}, [](Batch& own) { own.mask.assign(6, 0); });
}

// Tokens without a choice: only the activity differs, and with it the rows of shared experts.
TEST(combine_refuses_another_activity) {
    expect_other_ids({{3, 6, 2, 4, 128, 8, Routing::kNone}, 1, 1, Masking::kTokens},
                     [](Batch& own) { own.features.mask = MaskKind::kNone; });
}

// What counts is what a mask says, not how.
TEST(combine_takes_the_same_mask_in_another_form) {
    const FeatureCase c{{3, 6, 2, 6, 128, 8}, 0, 0, Masking::kTokens};
    run_world(world_of(c, "sim"), [&](RankMachine& rank) {
        Batch own = make_feature_batch(c, rank.rank(), 4);
        const DispatchResult dispatched = rank.dispatch(own);
        std::vector<uint8_t> pairs;
        for (uint32_t token = 0; token < 6; ++token)
            pairs.insert(pairs.end(), 2, expected_active(own, token) ? 0x80 : 0);
        own.features.mask = MaskKind::kPairs;
        own.mask = pairs;
        CHECK_EQ(rank.combine(own, dispatched, dispatched.expand_x).outcome.code, Code::kOk);
    });
}

// The first bad id that is not masked is named, not one behind the mask.
TEST(an_id_in_front_of_the_mask_is_validated) {
    for (const char* policy : {"fast", "sim"}) {
        run_world(world_of(kMasked, policy), [&](RankMachine& rank) {
            Batch own = make_feature_batch(kMasked, rank.rank(), 4);
            if (rank.rank() == 1) {
                own.mask.assign(12, 1);
                own.mask[3] = 0;
                own.expert_ids = {0, 1, 2, 99, 3, 3, 0, 1, 2, 3, 4, 5};
            }
            const DispatchResult got = rank.dispatch(own);
            CHECK_EQ(got.outcome.code, Code::kDuplicateExpert);
            CHECK_EQ(got.outcome.refusal.token, 2U);
            CHECK_EQ(got.outcome.refusal.column, 1U);
            CHECK_EQ(got.outcome.refusal.got, int64_t{3});
            CHECK(all_are(got.ep_recv_counts, 0));
            check_feature_round(rank, kMasked, 5);
        });
    }
}

// The triples of shared rows are checked like any other: the column behind the last one is none.
TEST(combine_refuses_a_column_behind_the_shared_ones) {
    const FeatureCase c{{3, 6, 2, 4, 128, 8}, 1, 1};
    for (const char* policy : {"fast", "sim"}) {
        run_world(world_of(c, policy), [&](RankMachine& rank) {
            const Batch own = make_feature_batch(c, rank.rank(), 4);
            DispatchResult got = rank.dispatch(own);
            CHECK(rank.rank() != 0 || got.assist_info[2] == 2);
            const int32_t column = got.assist_info[2];
            if (rank.rank() == 0) got.assist_info[2] = 3;
            const OperationOutcome outcome = rank.combine(own, got, got.expand_x).outcome;
            CHECK_EQ(outcome.code, Code::kBadTriple);
            CHECK_EQ(outcome.refusal.limit, int64_t{3});
            got.assist_info[2] = column;
            CHECK_EQ(rank.combine(own, got, got.expand_x).outcome.code, Code::kOk);
        });
    }
}

// Ranks that disagree on where shared experts are meet in the exchange.
TEST(ranks_with_other_shared_experts_are_refused) {
    const FeatureCase c{{4, 6, 2, 6, 128, 8}, 2, 2};
    run_world(world_of(c, "sim"), [&](RankMachine& rank) {
        Batch own = make_feature_batch(c, rank.rank(), 4);
        if (rank.rank() == 3) own.features.shared_experts = 1;
        const DispatchResult got = rank.dispatch(own);
        CHECK_EQ(got.outcome.code, Code::kSignature);
        CHECK_EQ(got.outcome.refusal.field, Field::kSharedExpertNum);
        check_feature_round(rank, {{4, 6, 2, 4, 128, 8}, 2, 2}, 5);
    });
}

}  // namespace
}  // namespace ascend_deepep::test
