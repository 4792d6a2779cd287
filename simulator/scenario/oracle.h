// SPDX-License-Identifier: Apache-2.0
// Expected results of dispatch and combine by plain loops over all ranks' inputs; shares no code with the product.
// Layer: simulator.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "simulator/scenario/oracle_experts.h"
#include "simulator/scenario/oracle_quantise.h"
#include "simulator/scenario/oracle_route.h"

namespace ascend_deepep::simulator {

struct ExpectedRows {
    std::vector<uint16_t> rows;       // dense, elements of two bytes
    std::vector<uint8_t> bytes;       // dense, elements of one byte
    std::vector<uint8_t> scales;      // dense, dynamic_scales
    std::vector<float> weights;       // per row, where they travel; 1 of a shared expert
    std::vector<int32_t> triples;     // three a row
    std::vector<int32_t> counts;      // inclusive, [local expert][source]
    std::vector<int64_t> token_nums;  // per local expert
};

// The float32 values of a token, times the factors of the expert it goes to.
inline std::vector<float> scaled_token(const Batch& batch, int num_experts, size_t token, int expert) {
    const Features& f = batch.features;
    std::vector<float> u;
    for (size_t h = 0; h < batch.hidden; ++h) {
        const float value = half_value(f.dtype, batch.x[token * batch.hidden + h]);
        const size_t row = f.scales == ScalesKind::kPerExpert ? size_t(factor_row(f, num_experts, expert)) : 0;
        const size_t at = f.scales == ScalesKind::kScalar ? 0 : row * batch.hidden + h;
        u.push_back(batch.factors.empty() ? value : value * batch.factors[at]);
    }
    return u;
}

template <typename T>
void append(const std::vector<T>& from, size_t first, size_t count, std::vector<T>* to) {
    to->insert(to->end(), from.begin() + static_cast<int64_t>(first),
               from.begin() + static_cast<int64_t>(first + count));
}

inline void append_row(const Batch& batch, int num_experts, size_t token, int expert, ExpectedRows* result) {
    const Features& f = batch.features;
    if (f.quant != Quant::kNone) {
        const QuantisedRow row = quantise(f.quant, scaled_token(batch, num_experts, token, expert));
        append(row.values, 0, row.values.size(), &result->bytes);
        append(row.scales, 0, row.scales.size(), &result->scales);
        return;
    }
    if (is_one_byte(f.dtype)) {
        append(batch.x_bytes, token * batch.hidden, batch.hidden, &result->bytes);
    } else {
        append(batch.x, token * batch.hidden, batch.hidden, &result->rows);
    }
    const size_t travelling = batch.num_tokens == 0 ? 0 : batch.travelling.size() / batch.num_tokens;
    append(batch.travelling, token * travelling, travelling, &result->scales);
}

inline ExpectedRows expected_dispatch(const std::vector<Batch>& batches, int num_experts, int rank) {
    ExpectedRows result;
    const int num_ranks = static_cast<int>(batches.size());
    const Features& f = batches[0].features;
    const ExpertRange experts = experts_of(f, num_ranks, num_experts, rank);
    for (int expert = experts.first; expert < experts.first + experts.count; ++expert) {
        const size_t before = f.has_sums ? 0 : result.triples.size() / 3;
        for (int source = 0; source < num_ranks; ++source) {
            const Batch& batch = batches[source];
            const bool is_here = host_of(f, num_ranks, num_experts, expert, source) == rank;
            for (size_t token = 0; is_here && token < batch.num_tokens; ++token) {
                for (size_t column = 0; column < num_columns_of(batch); ++column) {
                    if (expert_of(batch, num_experts, token, column) != expert) continue;
                    result.triples.insert(result.triples.end(),
                                          {source, static_cast<int>(token), static_cast<int>(column)});
                    append_row(batch, num_experts, token, expert, &result);
                    if (batch.weights.empty()) continue;
                    const bool is_shared = column >= batch.num_topk;
                    result.weights.push_back(is_shared ? 1.0F : batch.weights[token * batch.num_topk + column]);
                }
            }
            result.counts.push_back(static_cast<int32_t>(result.triples.size() / 3));
        }
        result.token_nums.push_back(static_cast<int64_t>(result.triples.size() / 3 - before));
    }
    return result;
}

// The row of a column as its expert gives it back.
inline std::vector<float> expert_row(const Batch& batch, size_t token, size_t column, int expert) {
    const Features& f = batch.features;
    const Dtype dtype = combine_dtype(f);
    std::vector<float> row;
    for (size_t h = 0; h < batch.hidden; ++h) {
        const uint16_t bits = has_made_outputs(f) ? made_output(dtype, batch.rank, static_cast<uint32_t>(token),
                                                                static_cast<uint32_t>(column), static_cast<uint32_t>(h))
                                                  : expert_step(dtype, batch.x[token * batch.hidden + h], expert);
        row.push_back(half_value(dtype, bits));
    }
    return row;
}

// What a rank returns of a token by rank: the sum of its rows, columns ascending, each weighted as dispatch was told,
// then added; rounded to their type. `host`: of each column, or -1.
inline std::vector<float> partial_of(const Batch& batch, size_t token, const std::vector<int>& host, int rank) {
    const Dtype dtype = combine_dtype(batch.features);
    std::vector<float> sum(batch.hidden, 0.0F);
    for (size_t column = 0; column < host.size(); ++column) {
        if (host[column] != rank) continue;
        const int expert = expert_of(batch, static_cast<int>(batch.num_experts), token, column);
        const std::vector<float> row = expert_row(batch, token, column, expert);
        const bool has_weight = column < batch.num_topk && !batch.scales.empty();
        const float weight = has_weight ? batch.weights[token * batch.num_topk + column] : 1.0F;
        for (size_t h = 0; h < batch.hidden; ++h) {
            const float term = weight * row[h];
            sum[h] = sum[h] + term;
        }
    }
    for (float& value : sum)
        value = half_value(dtype, half_bits(dtype, value));
    return sum;
}

// Partials in the order of their first columns.
inline std::vector<float> sum_of_partials(const Batch& batch, size_t token) {
    const int num_experts = static_cast<int>(batch.num_experts);
    std::vector<int> host;
    for (size_t column = 0; column < num_columns_of(batch); ++column) {
        const int expert = expert_of(batch, num_experts, token, column);
        host.push_back(expert < 0 ? -1
                                  : host_of(batch.features, static_cast<int>(batch.num_ranks), num_experts, expert,
                                            static_cast<int>(batch.rank)));
    }
    std::vector<float> sum(batch.hidden, 0.0F);
    for (auto column = host.begin(); column != host.end(); ++column) {
        if (*column < 0 || std::find(host.begin(), column, *column) != column) continue;
        const std::vector<float> partial = partial_of(batch, token, host, *column);
        for (size_t h = 0; h < batch.hidden; ++h)
            sum[h] = sum[h] + partial[h];
    }
    return sum;
}

// Columns ascending, each term multiplied, then added; without weights for shared experts, which come last.
inline std::vector<float> sum_of_rows(const Batch& batch, size_t token) {
    const int num_experts = static_cast<int>(batch.num_experts);  // without shared experts any number will do
    std::vector<float> sum(batch.hidden, 0.0F);
    for (size_t column = 0; column < num_columns_of(batch); ++column) {
        const int expert = expert_of(batch, num_experts, token, column);
        if (expert < 0) continue;
        std::vector<float> row = expert_row(batch, token, column, expert);
        if (batch.features.is_int8) pass_as_int8(combine_dtype(batch.features), &row);
        const bool has_weight = column < batch.num_topk && !batch.scales.empty();
        const float weight = has_weight ? batch.scales[token * batch.num_topk + column] : 1.0F;
        for (size_t h = 0; h < batch.hidden; ++h) {
            const float term = weight * row[h];
            sum[h] = sum[h] + term;
        }
    }
    return sum;
}

// And shared_expert_x behind all of them.
inline std::vector<float> summed_token(const Batch& batch, size_t token) {
    std::vector<float> sum = batch.features.sums_by_rank ? sum_of_partials(batch, token) : sum_of_rows(batch, token);
    if (batch.shared_x.empty() || !is_active(batch, token)) return sum;
    for (size_t h = 0; h < batch.hidden; ++h)
        sum[h] = sum[h] + half_value(combine_dtype(batch.features), batch.shared_x[token * batch.hidden + h]);
    return sum;
}

inline std::vector<uint16_t> expected_combine(const Batch& batch) {
    std::vector<uint16_t> result;
    for (size_t token = 0; token < batch.num_tokens; ++token) {
        for (float sum : summed_token(batch, token))
            result.push_back(half_bits(combine_dtype(batch.features), sum));
    }
    return result;
}

}  // namespace ascend_deepep::simulator
