// SPDX-License-Identifier: Apache-2.0
// Refusals are operations: every rank ends with the same one, writes nothing, and the next good call is exact.
// Layer: tests. docs/protocol.md, "Control messages", I7.
#include "rounds.h"

namespace ascend_deepep::test {
namespace {

constexpr Case kCase{3, 6, 2, 6, 128, 8};

// Every rank runs `call`, then good rounds. Each must end with a refusal of `code` that names `refuser`.
void expect_refusal(const Case& c, Code code, uint32_t refuser,
                    const std::function<OperationOutcome(RankMachine&)>& call) {
    for (const char* policy : {"fast", "sim"}) {
        run_world(world_of(c, policy), [&](RankMachine& rank) {
            check_round(rank, c, 1);
            const OperationOutcome outcome = call(rank);
            CHECK_EQ(outcome.code, code);
            CHECK_EQ(outcome.refusal.rank, refuser);
            for (uint32_t round = 2; round < 5; ++round)
                check_round(rank, c, round);
        });
    }
}

Batch batch_with(const RankMachine& rank, uint32_t who, size_t pair, int32_t id) {
    Batch batch = make_batch(kCase, rank.rank(), 9);
    if (rank.rank() == who) batch.expert_ids[pair] = id;
    return batch;
}

void expect_zero_counts(const DispatchResult& result) {
    CHECK(all_are(result.ep_recv_counts, int32_t{0}));
    CHECK(all_are(result.expert_token_nums, int64_t{0}));
    CHECK(all_are(result.expand_x, uint16_t{0x7F7F}));
}

TEST(id_out_of_range_names_token_and_column) {
    for (int32_t id : {6, 7, 1 << 15, 0x7FFFFFFF, -2, -2147483647 - 1}) {
        expect_refusal(kCase, Code::kBadExpertId, 1, [id](RankMachine& rank) {
            const DispatchResult result = rank.dispatch(batch_with(rank, 1, 5 * 2 + 1, id));
            CHECK_EQ(result.outcome.refusal.token, 5U);
            CHECK_EQ(result.outcome.refusal.column, 1U);
            CHECK_EQ(result.outcome.refusal.got, int64_t{id});
            CHECK_EQ(result.outcome.refusal.limit, int64_t{6});
            expect_zero_counts(result);
            return result.outcome;
        });
    }
}

TEST(duplicate_id_names_the_second_one) {
    expect_refusal(kCase, Code::kDuplicateExpert, 2, [](RankMachine& rank) {
        Batch batch = make_batch(kCase, rank.rank(), 9);
        if (rank.rank() == 2) batch.expert_ids[3] = batch.expert_ids[2];
        const DispatchResult result = rank.dispatch(batch);
        CHECK_EQ(result.outcome.refusal.token, 1U);
        CHECK_EQ(result.outcome.refusal.column, 1U);
        return result.outcome;
    });
}

TEST(host_refusal_reaches_every_rank) {
    expect_refusal(kCase, Code::kBadShape, 0, [](RankMachine& rank) {
        if (rank.rank() != 0) return rank.dispatch(make_batch(kCase, rank.rank(), 9)).outcome;
        return rank.refuse(OperationKind::kDispatch, Refusal{Code::kBadShape, Field::kX, 0, 0, 3, 2, 0, 0});
    });
}

// Each rank names the first rank that differs from it.
TEST(different_calls_meet_in_the_exchange) {
    for (const char* policy : {"fast", "sim"}) {
        run_world(world_of(kCase, policy), [&](RankMachine& rank) {
            const Batch batch = make_batch(kCase, rank.rank(), 9);
            const DispatchResult first = rank.dispatch(batch);
            const OperationOutcome outcome =
                rank.rank() == 1 ? rank.dispatch(batch).outcome : rank.combine(batch, first, first.expand_x).outcome;
            CHECK_EQ(outcome.code, Code::kSignature);
            CHECK_EQ(outcome.refusal.field, Field::kKind);
            CHECK_EQ(outcome.refusal.rank, rank.rank() == 1 ? 0U : 1U);
            Batch narrow = batch;
            if (rank.rank() == 2) narrow.max_tokens = 4;
            if (rank.rank() == 2) narrow.num_tokens = 4;
            const OperationOutcome unequal = rank.dispatch(narrow).outcome;
            CHECK_EQ(unequal.code, Code::kSignature);
            CHECK_EQ(unequal.refusal.field, Field::kNumTokens);
            check_round(rank, kCase, 3);
        });
    }
}

TEST(combine_of_another_dispatch_is_a_different_call) {
    for (const char* policy : {"fast", "sim"}) {
        run_world(world_of(kCase, policy), [&](RankMachine& rank) {
            const Batch batch = make_batch(kCase, rank.rank(), 9);
            const DispatchResult first = rank.dispatch(batch);
            const DispatchResult second = rank.dispatch(batch);
            const DispatchResult& used = rank.rank() == 0 ? first : second;
            const OperationOutcome outcome = rank.combine(batch, used, used.expand_x).outcome;
            CHECK_EQ(outcome.code, Code::kSignature);
            CHECK_EQ(outcome.refusal.field, Field::kDispatchNumber);
            CHECK_EQ(rank.combine(batch, first, first.expand_x).outcome.code, Code::kOk);
        });
    }
}

// `spoil` changes what rank 1 hands to combine.
void expect_bad_combine(Code code, const std::function<void(DispatchResult&)>& spoil) {
    expect_refusal(kCase, code, 1, [&](RankMachine& rank) {
        const Batch batch = make_batch(kCase, rank.rank(), 9);
        const DispatchResult good = rank.dispatch(batch);
        DispatchResult bad = good;
        if (rank.rank() == 1) spoil(bad);
        const uint64_t bytes = rank.fabric().traffic().bytes_combine;
        const OperationOutcome outcome = rank.combine(batch, bad, good.expand_x).outcome;
        if (rank.rank() == 1) CHECK_EQ(rank.fabric().traffic().bytes_combine, bytes);
        CHECK_EQ(rank.combine(batch, good, good.expand_x).outcome.code, Code::kOk);
        return outcome;
    });
}

TEST(combine_refuses_foreign_triples) {
    expect_bad_combine(Code::kForeignTriples,
                       [](DispatchResult& bad) { std::fill(bad.assist_info.begin(), bad.assist_info.end(), 1); });
}
TEST(combine_refuses_a_token_out_of_range) {
    expect_bad_combine(Code::kBadTriple, [](DispatchResult& bad) { bad.assist_info[1] = 6; });
}
TEST(combine_refuses_a_column_out_of_range) {
    expect_bad_combine(Code::kBadTriple, [](DispatchResult& bad) { bad.assist_info[2] = -1; });
}
TEST(combine_refuses_a_row_of_another_source) {
    expect_bad_combine(Code::kBadTriple,
                       [](DispatchResult& bad) { bad.assist_info[0] = (bad.assist_info[0] + 1) % 3; });
}
TEST(combine_refuses_counts_that_fall) {
    expect_bad_combine(Code::kBadCounts,
                       [](DispatchResult& bad) { bad.ep_recv_counts[1] = bad.ep_recv_counts[5] + 1; });
}
TEST(combine_refuses_another_total) {
    expect_bad_combine(Code::kBadCounts, [](DispatchResult& bad) { bad.ep_recv_counts[5] += 1; });
}

// Legal one by one: only the digest of all triples sees it.
TEST(combine_refuses_exchanged_columns) {
    expect_bad_combine(Code::kForeignTriples,
                       [](DispatchResult& bad) { std::swap(bad.assist_info[2], bad.assist_info[5]); });
    expect_bad_combine(Code::kForeignTriples, [](DispatchResult& bad) { bad.assist_info[2] ^= 1; });
}

// As the kernels mix triples: a caller may do the same.
uint32_t mixed(uint32_t a, uint32_t b) {
    uint32_t word = (a * 0x9E3779B1U) ^ ((b + 0x7F4A7C15U) * 0x85EBCA77U);
    word = (word ^ (word >> 15)) * 0x2C1B3C6DU;
    return word ^ (word >> 12);
}
uint32_t digest_of(const DispatchResult& result, size_t rows) {
    uint32_t sum = 0;
    for (size_t row = 0; row < rows; ++row) {
        const int32_t* triple = &result.assist_info[row * 3];
        sum += mixed(mixed(static_cast<uint32_t>(row), static_cast<uint32_t>(triple[0])),
                     mixed(static_cast<uint32_t>(triple[1]), static_cast<uint32_t>(triple[2])));
    }
    return sum;
}

// Reads of expand_x rely on the triples alone, not on a digest that a caller can make: a row of the rank's own is moved
// to a column that its token has no row for.
TEST(combine_refuses_own_rows_that_a_forged_digest_covers) {
    expect_bad_combine(Code::kForeignTriples, [](DispatchResult& bad) {
        const auto rows = static_cast<size_t>(bad.ep_recv_counts.back());
        const size_t digest = align_up(uint64_t{bad.capacity_rows} * 3, 8) + 6;
        CHECK_EQ(static_cast<uint32_t>(bad.assist_info[digest]), digest_of(bad, rows));
        size_t row = 0;
        while (row < rows && bad.assist_info[row * 3] != 1)
            ++row;
        CHECK(row < rows);
        bad.assist_info[row * 3 + 2] ^= 1;
        bad.assist_info[digest] = static_cast<int32_t>(digest_of(bad, rows));
    });
}
TEST(combine_refuses_other_ids) {
    expect_refusal(kCase, Code::kOtherIds, 1, [](RankMachine& rank) {
        Batch batch = make_batch(kCase, rank.rank(), 9);
        const DispatchResult dispatched = rank.dispatch(batch);
        if (rank.rank() == 1) batch.expert_ids[0] = -1;
        return rank.combine(batch, dispatched, dispatched.expand_x).outcome;
    });
}

}  // namespace
}  // namespace ascend_deepep::test
