// SPDX-License-Identifier: Apache-2.0
// Rounds of dispatch and combine against the oracle: what the tests of this folder share. Layer: tests.
#pragma once

#include <algorithm>
#include <random>

#include "check.h"
#include "simulator/scenario/oracle.h"
#include "world.h"

namespace ascend_deepep::test {

enum class Routing { kUniform, kOneHot, kNone, kHoles };

struct Case {
    uint32_t num_ranks, tokens, topk, experts, hidden, cores;
    Routing routing = Routing::kUniform;
    CombineEngine engine = CombineEngine::kMte;
    uint32_t queue_depth = 64;
    bool is_uneven = false;
    uint32_t queues_per_peer = 1;
};

inline Batch make_batch(const Case& c, uint32_t rank, uint32_t seed) {
    std::mt19937 random(seed * 1000 + rank);
    Batch batch;
    batch.num_tokens = c.is_uneven ? c.tokens * rank / c.num_ranks : c.tokens;
    batch.max_tokens = c.tokens;
    batch.hidden = c.hidden;
    batch.num_topk = c.topk;
    for (uint32_t token = 0; token < batch.num_tokens; ++token) {
        std::vector<int32_t> ids(c.experts);
        for (uint32_t i = 0; i < c.experts; ++i)
            ids[i] = static_cast<int32_t>(i);
        if (c.routing != Routing::kOneHot) std::shuffle(ids.begin(), ids.end(), random);
        for (uint32_t column = 0; column < c.topk; ++column) {
            const bool is_hole = c.routing == Routing::kNone || (c.routing == Routing::kHoles && random() % 3 == 0);
            batch.expert_ids.push_back(is_hole ? -1 : ids[column]);
            batch.scales.push_back(static_cast<float>(random() % 1000) / 997.0F);
        }
        for (uint32_t h = 0; h < c.hidden; ++h) {
            batch.x.push_back(bf16_bits(static_cast<float>(random() % 4096) / 64.0F - 32.0F));
        }
    }
    return batch;
}

inline void check_round(RankMachine& rank, const Case& c, uint32_t round) {
    std::vector<Batch> batches;
    for (uint32_t r = 0; r < c.num_ranks; ++r)
        batches.push_back(make_batch(c, r, round));
    const ExpectedRows expected =
        expected_dispatch(batches, static_cast<int>(c.experts), static_cast<int>(rank.rank()));
    const DispatchResult got = rank.dispatch(batches[rank.rank()]);
    CHECK_EQ(got.outcome.code, Code::kOk);
    if (got.outcome.code != Code::kOk) return;
    CHECK(got.ep_recv_counts == expected.counts);
    CHECK(got.expert_token_nums == expected.token_nums);
    CHECK_EQ(static_cast<int32_t>(got.outcome.num_rows), expected.counts.back());
    CHECK(std::equal(expected.rows.begin(), expected.rows.end(), got.expand_x.begin()));
    CHECK(std::equal(expected.triples.begin(), expected.triples.end(), got.assist_info.begin()));
    std::vector<uint16_t> expert_out(got.expand_x.size(), 0xFFFF);
    const uint32_t local = c.experts / c.num_ranks;
    for (size_t row = 0; row < expected.triples.size() / 3; ++row) {
        uint32_t block = 0;
        while (expected.counts[block] <= static_cast<int32_t>(row))
            ++block;
        const int expert = static_cast<int>(rank.rank() * local + block / c.num_ranks);
        for (size_t h = 0; h < c.hidden; ++h) {
            expert_out[row * c.hidden + h] = expert_step(got.expand_x[row * c.hidden + h], expert);
        }
    }
    const CombineResult combined = rank.combine(batches[rank.rank()], got, expert_out);
    CHECK_EQ(combined.outcome.code, Code::kOk);
    CHECK(combined.x == expected_combine(batches[rank.rank()]));
}

template <typename T>
bool all_are(const std::vector<T>& values, T value) {
    return std::all_of(values.begin(), values.end(), [&](T v) { return v == value; });
}

inline WorldOptions world_of(const Case& c, const char* policy) {
    WorldOptions options;
    options.limits = CommunicatorLimits{c.num_ranks, c.tokens == 0 ? 1 : c.tokens, c.hidden, c.topk, c.experts, 0};
    options.num_cores = c.cores;
    options.queue_depth = c.queue_depth;
    options.queues_per_peer = c.queues_per_peer;
    options.engine = c.engine;
    options.policy = policy;
    return options;
}

}  // namespace ascend_deepep::test
