// SPDX-License-Identifier: Apache-2.0
// Rounds with masks, shared experts, weights and copies per expert, against plain loops written from the contract of
// the operators alone. Layer: tests.
#pragma once

#include <cstring>
#include <limits>

#include "rounds.h"
#include "simulator/scenario/call_parts.h"

namespace ascend_deepep::test {

constexpr CopyMode kPerExpert = CopyMode::kPerExpert;

enum class Masking { kNone, kTokens, kPairs, kNothing };

struct FeatureCase {
    Case base;
    uint32_t shared_expert_num = 0;
    uint32_t shared_expert_rank_num = 0;
    Masking masking = Masking::kNone;
    bool has_weights = false;
    bool has_shared_x = false;
    CopyMode copies = CopyMode::kPerRank;
    bool sums_by_rank = false;
};

// By the contract, 1.6: what a mask leaves of one token.
inline bool expected_active(const Batch& b, uint32_t token) {
    if (b.features.mask == MaskKind::kNone) return true;
    if (b.features.mask == MaskKind::kTokens) {
        return b.mask[token] != 0;
    }
    for (uint32_t column = 0; column < b.num_topk; ++column)
        if (b.mask[token * b.num_topk + column] != 0) return true;
    return false;
}

inline bool expected_live(const Batch& b, uint32_t token, uint32_t column) {
    const size_t pair = token * b.num_topk + column;
    const bool is_kept = b.features.mask == MaskKind::kPairs ? b.mask[pair] != 0 : expected_active(b, token);
    return is_kept && b.expert_ids[pair] >= 0;
}

// Weights of columns that are not live are not a number, and ids behind a mask are garbage: nobody may look.
inline Batch make_feature_batch(const FeatureCase& c, uint32_t rank, uint32_t seed) {
    Batch batch = make_batch(c.base, rank, seed);
    Features& f = batch.features;
    std::mt19937 random(seed * 77 + rank);
    batch.num_experts = c.base.experts;
    f.shared_experts = c.shared_expert_num;
    f.shared_ranks = c.shared_expert_rank_num;
    f.has_weights = c.has_weights;
    f.has_shared_x = c.has_shared_x;
    f.copies = c.copies;
    f.sums_by_rank = c.sums_by_rank;
    const size_t num_pairs = size_t{batch.num_tokens} * batch.num_topk;
    if (c.masking == Masking::kTokens || (c.masking == Masking::kNothing && seed % 2 == 0)) {
        f.mask = MaskKind::kTokens;
        for (uint32_t token = 0; token < batch.num_tokens; ++token)
            batch.mask.push_back(c.masking == Masking::kTokens && random() % 3 != 0 ? 1 : 0);
    } else if (c.masking != Masking::kNone) {
        f.mask = MaskKind::kPairs;
        for (size_t pair = 0; pair < num_pairs; ++pair)
            batch.mask.push_back(c.masking == Masking::kPairs && random() % 3 == 0 ? 1 : 0);
    }
    constexpr int32_t kGarbage[] = {0x7FFFFFFF, -77, 0, 1 << 20, -1};
    for (uint32_t token = 0; token < batch.num_tokens; ++token) {
        for (uint32_t column = 0; column < batch.num_topk; ++column) {
            const size_t pair = size_t{token} * batch.num_topk + column;
            const bool is_live = expected_live(batch, token, column);
            if (!is_live) batch.scales[pair] = std::numeric_limits<float>::quiet_NaN();
            if (!is_live && batch.expert_ids[pair] >= 0) batch.expert_ids[pair] = kGarbage[random() % 5];
        }
    }
    if (c.has_shared_x) {
        for (size_t i = 0; i < size_t{batch.num_tokens} * batch.hidden; ++i)
            batch.shared_x.push_back(bf16_bits(static_cast<float>(random() % 512) / 16.0F - 16.0F));
    }
    if (c.has_weights) batch.weights = batch.scales;
    if (!c.sums_by_rank) return batch;
    // What combine weighs with is what dispatch brought, whatever its own tensor holds.
    for (float& weight : batch.weights)
        weight = 1.25F - weight;
    if (!c.has_weights) batch.scales.clear();
    batch.has_scales = c.has_weights;
    return batch;
}

// Where the row of a live (token, column) of `source` goes. By the contract, 1.5.
struct ExpectedPlace {
    uint32_t rank;
    uint32_t local;
    uint32_t expert;  // shared ones behind the routed
};
inline ExpectedPlace expected_place(const FeatureCase& c, const Batch& b, uint32_t source, uint32_t token,
                                    uint32_t column) {
    if (column >= b.num_topk) {
        const uint32_t shared = column - b.num_topk;
        const uint32_t each = c.shared_expert_rank_num / c.shared_expert_num;
        return {shared * each + source % each, 0, c.base.experts + shared};
    }
    const auto id = static_cast<uint32_t>(b.expert_ids[token * b.num_topk + column]);
    const uint32_t each = c.base.experts / (c.base.num_ranks - c.shared_expert_rank_num);
    return {c.shared_expert_rank_num + id / each, id % each, id};
}
inline bool expected_sent(const Batch& b, uint32_t token, uint32_t column) {
    return column < b.num_topk ? expected_live(b, token, column) : expected_active(b, token);
}

struct ExpectedCall : ExpectedRows {
    std::vector<uint32_t> experts;  // of each row
};

struct ExpectedRow {
    uint32_t token, column, expert;
};

inline ExpectedCall expected_dispatch(const FeatureCase& c, const std::vector<Batch>& batches, uint32_t rank) {
    const bool is_shared = rank < c.shared_expert_rank_num;
    const uint32_t experts = is_shared ? 1 : c.base.experts / (c.base.num_ranks - c.shared_expert_rank_num);
    std::vector<std::vector<ExpectedRow>> blocks(size_t{experts} * c.base.num_ranks);  // [local expert][source]
    for (uint32_t source = 0; source < c.base.num_ranks; ++source) {
        const Batch& b = batches[source];
        for (uint32_t token = 0; token < b.num_tokens; ++token) {
            for (uint32_t column = 0; column < b.num_topk + c.shared_expert_num; ++column) {
                if (!expected_sent(b, token, column)) continue;
                const ExpectedPlace place = expected_place(c, b, source, token, column);
                if (place.rank != rank) continue;
                blocks[place.local * c.base.num_ranks + source].push_back({token, column, place.expert});
            }
        }
    }
    ExpectedCall result;
    for (uint32_t block = 0; block < blocks.size(); ++block) {
        const uint32_t source = block % c.base.num_ranks;
        const Batch& batch = batches[source];
        if (source == 0) result.token_nums.push_back(0);
        for (const auto& [token, column, expert] : blocks[block]) {
            result.triples.insert(result.triples.end(), {static_cast<int32_t>(source), static_cast<int32_t>(token),
                                                         static_cast<int32_t>(column)});
            const uint16_t* row = batch.x.data() + size_t{token} * batch.hidden;
            result.rows.insert(result.rows.end(), row, row + batch.hidden);
            result.experts.push_back(expert);
            const std::vector<float>& weights = batch.weights.empty() ? batch.scales : batch.weights;
            const bool is_weighted = column < batch.num_topk && !weights.empty();
            result.weights.push_back(is_weighted ? weights[token * batch.num_topk + column] : 1.0F);
            ++result.token_nums.back();
        }
        result.counts.push_back(static_cast<int32_t>(result.experts.size()));
    }
    return result;
}

// By rank: the rows of one rank, columns ascending, weighted where dispatch had weights, rounded to the type of the
// rows.
inline float expected_partial(const FeatureCase& c, const Batch& b, uint32_t source, size_t token, uint32_t rank,
                              float x) {
    float sum = 0.0F;
    for (uint32_t column = 0; column < b.num_topk + c.shared_expert_num; ++column) {
        if (!expected_sent(b, static_cast<uint32_t>(token), column)) continue;
        const ExpectedPlace place = expected_place(c, b, source, static_cast<uint32_t>(token), column);
        if (place.rank != rank) continue;
        const float y = bf16_value(expert_step(bf16_bits(x), static_cast<int>(place.expert)));
        const bool is_weighted = c.has_weights && column < b.num_topk;
        const float term = is_weighted ? b.weights[token * b.num_topk + column] * y : y;
        sum = sum + term;
    }
    return bf16_value(bf16_bits(sum));
}

// Partials in the order of their first columns, unweighted, then shared_expert_x.
inline std::vector<uint16_t> expected_combine_by_rank(const FeatureCase& c, const Batch& b, uint32_t source) {
    std::vector<uint16_t> result(size_t{b.num_tokens} * b.hidden);
    for (uint32_t token = 0; token < b.num_tokens; ++token) {
        std::vector<uint32_t> ranks;
        for (uint32_t column = 0; column < b.num_topk + c.shared_expert_num; ++column) {
            if (!expected_sent(b, token, column)) continue;
            const uint32_t rank = expected_place(c, b, source, token, column).rank;
            if (std::find(ranks.begin(), ranks.end(), rank) == ranks.end()) ranks.push_back(rank);
        }
        for (uint32_t h = 0; h < b.hidden; ++h) {
            const size_t at = size_t{token} * b.hidden + h;
            float sum = 0.0F;
            for (const uint32_t rank : ranks)
                sum = sum + expected_partial(c, b, source, token, rank, bf16_value(b.x[at]));
            if (c.has_shared_x && expected_active(b, token)) sum = sum + bf16_value(b.shared_x[at]);
            result[at] = bf16_bits(sum);
        }
    }
    return result;
}

// By the contract, 3.2, and zeros where nothing is to be summed.
inline std::vector<uint16_t> expected_combine(const FeatureCase& c, const Batch& b, uint32_t source) {
    if (c.sums_by_rank) return expected_combine_by_rank(c, b, source);
    const uint32_t columns = b.num_topk + c.shared_expert_num;
    std::vector<uint16_t> result(size_t{b.num_tokens} * b.hidden);
    for (uint32_t token = 0; token < b.num_tokens; ++token) {
        for (uint32_t h = 0; h < b.hidden; ++h) {
            const size_t at = size_t{token} * b.hidden + h;
            float sum = 0.0F;
            for (uint32_t column = 0; column < columns; ++column) {
                if (!expected_sent(b, token, column)) continue;
                const uint32_t expert = expected_place(c, b, source, token, column).expert;
                const float y = bf16_value(expert_step(b.x[at], static_cast<int>(expert)));
                const float term = column < b.num_topk ? b.scales[token * b.num_topk + column] * y : y;
                sum = sum + term;
            }
            if (c.has_shared_x && expected_active(b, token)) sum = sum + bf16_value(b.shared_x[at]);
            result[at] = bf16_bits(sum);
        }
    }
    return result;
}

inline std::vector<uint16_t> expert_outputs(const ExpectedCall& expected, const DispatchResult& got, uint32_t hidden) {
    std::vector<uint16_t> result(got.expand_x.size(), 0xFFFF);
    for (size_t row = 0; row < expected.experts.size(); ++row) {
        for (size_t h = row * hidden; h < (row + 1) * hidden; ++h)
            result[h] = expert_step(got.expand_x[h], static_cast<int>(expected.experts[row]));
    }
    return result;
}

inline bool begins_with(const std::vector<float>& values, const std::vector<float>& start, float then) {
    return std::equal(start.begin(), start.end(), values.begin()) &&
           std::all_of(values.begin() + static_cast<long>(start.size()), values.end(),
                       [then](float v) { return v == then; });
}

inline void check_feature_round(RankMachine& rank, const FeatureCase& c, uint32_t round) {
    std::vector<Batch> batches;
    for (uint32_t r = 0; r < c.base.num_ranks; ++r)
        batches.push_back(make_feature_batch(c, r, round));
    const Batch& own = batches[rank.rank()];
    const ExpectedCall expected = expected_dispatch(c, batches, rank.rank());
    const DispatchResult got = rank.dispatch(own);
    CHECK_EQ(got.outcome.code, Code::kOk);
    if (got.outcome.code != Code::kOk) return;
    CHECK(got.ep_recv_counts == expected.counts);
    CHECK(got.expert_token_nums == expected.token_nums);
    CHECK_EQ(static_cast<size_t>(got.outcome.num_rows), expected.experts.size());
    CHECK(std::equal(expected.rows.begin(), expected.rows.end(), got.expand_x.begin()));
    CHECK(std::equal(expected.triples.begin(), expected.triples.end(), got.assist_info.begin()));
    if (c.has_weights) CHECK(begins_with(got.expand_scales, expected.weights, kPoisonFloat));
    const CombineResult combined = rank.combine(own, got, expert_outputs(expected, got, c.base.hidden));
    CHECK_EQ(combined.outcome.code, Code::kOk);
    CHECK(combined.x == expected_combine(c, own, rank.rank()));
}

inline WorldOptions world_of(const FeatureCase& c, const char* policy) {
    WorldOptions options = world_of(c.base, policy);
    options.limits.shared_expert_num = c.shared_expert_num;
    options.limits.per_expert_copies = c.copies == kPerExpert ? 1 : 0;
    options.limits.combine_reduce = c.sums_by_rank ? 1 : 0;
    return options;
}

}  // namespace ascend_deepep::test
