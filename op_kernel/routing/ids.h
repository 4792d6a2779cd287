// SPDX-License-Identifier: Apache-2.0
//
// Expert ids as both operators read them: validation and the rank an id belongs to. Layer: between protocol and the
// operators; dispatch and combine must agree on which (token, column) pairs are live.
#ifndef ASCEND_DEEPEP_ROUTING_IDS_H
#define ASCEND_DEEPEP_ROUTING_IDS_H

#include "protocol/context.h"
#include "simt_api/asc_simt.h"

namespace ascend_deepep::kernel {

// A bad pair is (token * num_topk + column) * 2 + is_duplicate: the smallest one is the one reported.
constexpr uint32_t kNoBadPair = 0xFFFFFFFFU;

// Ids of one token; -1 for none and for what may not be used. Returns the first bad pair, or kNoBadPair.
__simt_callee__ inline uint32_t load_ids(__gm__ int32_t* expert_ids, uint32_t token, uint32_t num_topk,
                                         uint32_t num_experts, int32_t* row) {
    uint32_t bad = kNoBadPair;
    for (uint32_t column = 0; column < num_topk; ++column) {
        int32_t id = asc_ldcg(expert_ids + uint64_t(token) * num_topk + column);
        const uint32_t pair = (token * num_topk + column) * 2;
        if (id < -1 || id >= static_cast<int32_t>(num_experts)) {
            bad = bad < pair ? bad : pair;
            id = -1;
        }
        for (uint32_t earlier = 0; earlier < column && id >= 0; ++earlier) {
            if (row[earlier] != id) continue;
            bad = bad < pair + 1 ? bad : pair + 1;
            id = -1;
        }
        row[column] = id;
    }
    return bad;
}

// No earlier column goes to the same rank: this one makes the copy.
__simt_callee__ inline bool is_first_to_rank(const int32_t* row, uint32_t column, uint32_t local_experts) {
    const uint32_t to = static_cast<uint32_t>(row[column]) / local_experts;
    for (uint32_t earlier = 0; earlier < column; ++earlier) {
        if (row[earlier] >= 0 && static_cast<uint32_t>(row[earlier]) / local_experts == to) return false;
    }
    return true;
}

// Digests tell combine that tensors came back as dispatch gave them out: sums of well mixed words, in any order.
constexpr uint32_t mix_words(uint32_t a, uint32_t b) {
    uint32_t word = (a * 0x9E3779B1U) ^ ((b + 0x7F4A7C15U) * 0x85EBCA77U);
    word = (word ^ (word >> 15)) * 0x2C1B3C6DU;
    return word ^ (word >> 12);
}
constexpr uint32_t triple_digest(uint32_t row, uint32_t source, uint32_t token, uint32_t column) {
    return mix_words(mix_words(row, source), mix_words(token, column));
}

// Of this thread's share of the ids: pairs threadIdx.x, threadIdx.x + blockDim.x, ...
__simt_callee__ inline uint32_t own_id_digest(__gm__ int32_t* expert_ids, uint32_t num_pairs) {
    uint32_t sum = 0;
    for (uint32_t pair = threadIdx.x; pair < num_pairs; pair += blockDim.x) {
        sum += mix_words(pair, static_cast<uint32_t>(asc_ldcg(expert_ids + pair)));
    }
    return sum;
}

// The refusal for a bad pair.
__aicore__ inline Refusal ids_refusal(const CommonTiling& tiling, uint64_t expert_ids, uint32_t bad) {
    Refusal refusal{};
    refusal.rank = tiling.rank;
    if (bad == kNoBadPair) return refusal;
    const uint32_t pair = bad / 2;
    refusal.code = (bad & 1U) != 0 ? Code::kDuplicateExpert : Code::kBadExpertId;
    refusal.field = Field::kExpertIds;
    refusal.token = pair / tiling.num_topk;
    refusal.column = pair % tiling.num_topk;
    refusal.got = load((__gm__ int32_t*)expert_ids + pair);
    refusal.limit = tiling.num_experts;
    return refusal;
}

}  // namespace ascend_deepep::kernel

#endif  // ASCEND_DEEPEP_ROUTING_IDS_H
