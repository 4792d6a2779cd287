// SPDX-License-Identifier: Apache-2.0
// Which choices count and where they go, by the operators' contract; shares no code with the product. Layer: simulator.
#pragma once

#include <vector>

#include "simulator/scenario/batch.h"

namespace ascend_deepep::simulator {

// The mask lets the pair count, whatever it chooses.
inline bool is_unmasked(const Batch& batch, size_t token, size_t column) {
    if (batch.features.mask == MaskKind::kTokens) return batch.mask[token] != 0;
    return batch.features.mask == MaskKind::kNone || batch.mask[token * batch.num_topk + column] != 0;
}

inline bool is_active(const Batch& batch, size_t token) {
    bool is_any = false;
    for (size_t column = 0; column < batch.num_topk; ++column)
        is_any = is_any || is_unmasked(batch, token, column);
    return is_any;
}

// The pair chooses an expert, and that counts.
inline bool is_live(const Batch& batch, size_t token, size_t column) {
    return is_unmasked(batch, token, column) && batch.expert_ids[token * batch.num_topk + column] >= 0;
}

// The expert of a column, shared ones numbered behind the others; -1: none that counts.
inline int expert_of(const Batch& batch, int num_experts, size_t token, size_t column) {
    if (column < batch.num_topk)
        return is_live(batch, token, column) ? batch.expert_ids[token * batch.num_topk + column] : -1;
    return is_active(batch, token) ? num_experts + static_cast<int>(column - batch.num_topk) : -1;
}

inline size_t num_columns_of(const Batch& batch) {
    return batch.num_topk + (batch.features.shared_ranks == 0 ? 0 : batch.features.shared_experts);
}

// The rank that serves `expert` for tokens of `source`.
inline int host_of(const Features& f, int num_ranks, int num_experts, int expert, int source) {
    const int shared_ranks = static_cast<int>(f.shared_ranks);
    if (expert < num_experts) return shared_ranks + expert / (num_experts / (num_ranks - shared_ranks));
    const int replicas = shared_ranks / static_cast<int>(f.shared_experts);
    return (expert - num_experts) * replicas + source % replicas;
}

// Experts of a rank, as numbered above.
struct ExpertRange {
    int first, count;
};
inline ExpertRange experts_of(const Features& f, int num_ranks, int num_experts, int rank) {
    const int shared_ranks = static_cast<int>(f.shared_ranks);
    if (rank < shared_ranks) return {num_experts + rank / (shared_ranks / static_cast<int>(f.shared_experts)), 1};
    const int local = num_experts / (num_ranks - shared_ranks);
    return {(rank - shared_ranks) * local, local};
}

// The row of factors: those of shared experts come first.
inline int factor_row(const Features& f, int num_experts, int expert) {
    const int shared = f.shared_ranks == 0 ? 0 : static_cast<int>(f.shared_experts);
    return expert < num_experts ? expert + shared : expert - num_experts;
}

// Copies of tokens of `batch` that its rank sends to `peer`.
inline uint64_t expected_copies(const Batch& batch, int num_ranks, int num_experts, int peer) {
    uint64_t copies = 0;
    for (size_t token = 0; token < batch.num_tokens; ++token) {
        uint64_t pairs = 0;
        for (size_t column = 0; column < num_columns_of(batch); ++column) {
            const int expert = expert_of(batch, num_experts, token, column);
            if (expert < 0) continue;
            const int source = static_cast<int>(batch.rank);
            pairs += host_of(batch.features, num_ranks, num_experts, expert, source) == peer ? 1 : 0;
        }
        copies += has_copies_per_expert(batch.features) ? pairs : std::min<uint64_t>(pairs, 1);
    }
    return copies;
}

}  // namespace ascend_deepep::simulator
