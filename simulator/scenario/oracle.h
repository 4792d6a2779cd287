// SPDX-License-Identifier: Apache-2.0
// Expected results of dispatch and combine by plain loops over all ranks' inputs; shares no code with the product.
// Layer: simulator.
#pragma once

#include <cstring>
#include <vector>

#include "simulator/scenario/batch.h"

namespace ascend_deepep::simulator {

struct ExpectedRows {
    std::vector<uint16_t> rows;       // dense
    std::vector<int32_t> triples;     // three a row
    std::vector<int32_t> counts;      // inclusive, [local expert][source]
    std::vector<int64_t> token_nums;  // per local expert
};

inline ExpectedRows expected_dispatch(const std::vector<Batch>& batches, int num_experts, int rank) {
    ExpectedRows result;
    const int num_ranks = static_cast<int>(batches.size());
    const int local = num_experts / num_ranks;
    for (int expert = rank * local; expert < (rank + 1) * local; ++expert) {
        const size_t before = result.triples.size() / 3;
        for (int source = 0; source < num_ranks; ++source) {
            const Batch& batch = batches[source];
            for (int token = 0; token < static_cast<int>(batch.num_tokens); ++token) {
                for (int column = 0; column < static_cast<int>(batch.num_topk); ++column) {
                    if (batch.expert_ids[token * batch.num_topk + column] != expert) continue;
                    result.triples.insert(result.triples.end(), {source, token, column});
                    const uint16_t* row = batch.x.data() + size_t(token) * batch.hidden;
                    result.rows.insert(result.rows.end(), row, row + batch.hidden);
                }
            }
            result.counts.push_back(static_cast<int32_t>(result.triples.size() / 3));
        }
        result.token_nums.push_back(static_cast<int64_t>(result.triples.size() / 3 - before));
    }
    return result;
}

inline float bf16_value(uint16_t bits) {
    const uint32_t word = uint32_t(bits) << 16;
    float value;
    std::memcpy(&value, &word, sizeof(value));
    return value;
}

inline uint16_t bf16_bits(float value) {  // finite values, nearest even
    uint32_t word;
    std::memcpy(&word, &value, sizeof(word));
    return static_cast<uint16_t>((word + 0x7FFF + ((word >> 16) & 1)) >> 16);
}

// The expert step of these tests: adds 1 to the exponent when the expert's number is odd.
inline uint16_t expert_step(uint16_t bits, int expert) {
    return expert % 2 == 0 ? bits : bf16_bits(bf16_value(bits) * 2);
}

inline std::vector<uint16_t> expected_combine(const Batch& batch) {
    std::vector<uint16_t> result(size_t(batch.num_tokens) * batch.hidden);
    for (size_t token = 0; token < batch.num_tokens; ++token) {
        for (size_t h = 0; h < batch.hidden; ++h) {
            float sum = 0.0F;
            for (size_t column = 0; column < batch.num_topk; ++column) {
                const int expert = batch.expert_ids[token * batch.num_topk + column];
                if (expert < 0) continue;
                const float y = bf16_value(expert_step(batch.x[token * batch.hidden + h], expert));
                const float weight = batch.scales.empty() ? 1.0F : batch.scales[token * batch.num_topk + column];
                const float term = weight * y;
                sum = sum + term;
            }
            result[token * batch.hidden + h] = bf16_bits(sum);
        }
    }
    return result;
}

}  // namespace ascend_deepep::simulator
