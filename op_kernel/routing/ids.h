// SPDX-License-Identifier: Apache-2.0
//
// Expert ids as both operators read them: mask, validation, the live table, and the rank an id belongs to. Layer:
// between protocol and the operators; dispatch and combine must agree on which (token, column) pairs are live.
// docs/protocol.md, "Columns, experts and ranks".
#ifndef ASCEND_DEEPEP_ROUTING_IDS_H
#define ASCEND_DEEPEP_ROUTING_IDS_H

#include "protocol/context.h"
#include "simt_api/asc_simt.h"

namespace ascend_deepep::kernel {

// A bad pair is (token * num_topk + column) * 2 + is_duplicate: the smallest one is the one reported.
constexpr uint32_t kNoBadPair = 0xFFFFFFFFU;

// Words of a row of the live table: an id for each top-k column, then whether the token is active.
constexpr uint32_t live_words(uint32_t num_topk) {
    return num_topk + 1;
}

// Where experts live. Ranks of shared experts come first.
constexpr uint32_t routed_host(uint32_t id, uint32_t experts_per_rank, uint32_t shared_expert_rank_num) {
    return shared_expert_rank_num + id / experts_per_rank;
}
constexpr uint32_t shared_host(uint32_t expert, uint32_t replicas, uint32_t source) {
    return expert * replicas + source % replicas;
}

// The communicator sums a token's rows of one rank before they return.
__aicore__ inline bool sums_by_rank(const CommonTiling& tiling) {
    return tiling.combine_reduce == static_cast<uint32_t>(CombineReduce::kRank);
}

// Of one token: ids that may not be used become -1. Returns the first bad pair, or kNoBadPair.
__simt_callee__ inline uint32_t check_ids(int32_t* row, uint32_t token, uint32_t num_topk, uint32_t num_experts) {
    uint32_t bad = kNoBadPair;
    for (uint32_t column = 0; column < num_topk; ++column) {
        const uint32_t pair = (token * num_topk + column) * 2;
        int32_t id = row[column];
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

// Ids of one token after the mask: -1 for what is masked, which is not looked at. True: the token is active.
__simt_callee__ inline bool load_ids(__gm__ int32_t* expert_ids, __gm__ uint8_t* mask, uint32_t token,
                                     uint32_t num_topk, uint32_t mask_kind, int32_t* row) {
    const bool is_of_pairs = mask_kind == static_cast<uint32_t>(MaskKind::kPairs);
    const bool is_of_tokens = mask_kind == static_cast<uint32_t>(MaskKind::kTokens);
    bool is_active = !is_of_pairs && (!is_of_tokens || asc_ldcg(mask + token) != 0);
    const bool is_kept_whole = is_active;
    for (uint32_t column = 0; column < num_topk; ++column) {
        const uint64_t pair = uint64_t(token) * num_topk + column;
        const bool is_kept = is_of_pairs ? asc_ldcg(mask + pair) != 0 : is_kept_whole;
        is_active = is_active || is_kept;
        row[column] = is_kept ? asc_ldcg(expert_ids + pair) : -1;
    }
    return is_active;
}

// Ids and mask of all tokens to the live table; thread t has tokens t, t + width, ... `bad`: the smallest bad pair.
__simt_vf__ __launch_bounds__(1024) inline void mark_live(__gm__ int32_t* expert_ids, __gm__ uint8_t* mask,
                                                          __gm__ int32_t* live, __ubuf__ uint32_t* bad,
                                                          uint32_t num_tokens, uint32_t num_topk, uint32_t num_experts,
                                                          uint32_t mask_kind) {
    if (threadIdx.x == 0) *bad = kNoBadPair;
    asc_syncthreads();
    int32_t row[kMaxTopk];
    for (uint32_t token = threadIdx.x; token < num_tokens; token += blockDim.x) {
        const bool is_active = load_ids(expert_ids, mask, token, num_topk, mask_kind, row);
        const uint32_t pair = check_ids(row, token, num_topk, num_experts);
        if (pair != kNoBadPair) asc_atomic_min(bad, pair);
        __gm__ int32_t* to = live + uint64_t(token) * live_words(num_topk);
        for (uint32_t column = 0; column < num_topk; ++column)
            asc_stcg(to + column, row[column]);
        asc_stcg(to + num_topk, is_active ? 1 : 0);
    }
    asc_threadfence();
}

// Runs it on this core. `bad`, one word, is read behind V_S.
__aicore__ inline void start_mark_live(CoreContext& ctx, uint64_t expert_ids, uint32_t width,
                                       const AscendC::LocalTensor<uint32_t>& bad) {
    const CommonTiling& common = *ctx.tiling;
    asc_vf_call<mark_live>(dim3(width), (__gm__ int32_t*)expert_ids, (__gm__ uint8_t*)common.x_active_mask,
                           (__gm__ int32_t*)workspace_region(ctx, WorkspaceRegion::kLiveIds), ub_pointer(bad),
                           common.num_tokens, common.num_topk, common.num_experts, common.mask);
}

// A row of the live table.
__simt_callee__ inline void load_live(__gm__ int32_t* live, uint32_t token, uint32_t num_topk, int32_t* row) {
    for (uint32_t word = 0; word < live_words(num_topk); ++word)
        row[word] = asc_ldcg(live + uint64_t(token) * live_words(num_topk) + word);
}

// No earlier column goes to the same rank: this one makes the copy.
__simt_callee__ inline bool is_first_to_rank(const int32_t* row, uint32_t column, uint32_t experts_per_rank) {
    const uint32_t to = static_cast<uint32_t>(row[column]) / experts_per_rank;
    for (uint32_t earlier = 0; earlier < column; ++earlier) {
        if (row[earlier] >= 0 && static_cast<uint32_t>(row[earlier]) / experts_per_rank == to) return false;
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

constexpr uint32_t chain_digest(uint32_t row, uint32_t next, uint32_t previous) {
    return mix_words(mix_words(next, previous), row);
}

// Of this thread's share of the live table: words threadIdx.x, threadIdx.x + blockDim.x, ...
__simt_callee__ inline uint32_t own_live_digest(__gm__ int32_t* live, uint32_t num_words) {
    uint32_t sum = 0;
    for (uint32_t word = threadIdx.x; word < num_words; word += blockDim.x) {
        sum += mix_words(word, static_cast<uint32_t>(asc_ldcg(live + word)));
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
