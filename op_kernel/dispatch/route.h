// SPDX-License-Identifier: Apache-2.0
//
// Route: makes the live table and sorts (token, column) pairs by expert and token copies by rank, once for all roles.
// Layer: dispatch. docs/protocol.md, "Roles of dispatch". A stable counting sort: linear in tokens x top-k.
#ifndef ASCEND_DEEPEP_DISPATCH_ROUTE_H
#define ASCEND_DEEPEP_DISPATCH_ROUTE_H

#include "protocol/leave.h"
#include "routing/ids.h"

namespace ascend_deepep::kernel {

// Counters of a thread: rows of each routed expert, copies to each of their ranks, and where there are shared experts
// the active tokens, which are the rows and copies of every one of them. Never more than experts and ranks.
constexpr uint32_t route_buckets(uint32_t num_experts, uint32_t num_ranks, uint32_t shared_ranks) {
    return num_experts + num_ranks - shared_ranks + (shared_ranks != 0 ? 1 : 0);
}

// Send slot of a copy. `slot_columns`: the columns of a token where each live one makes a copy of its own; 0 where a
// token has one slot, and a copy goes to each rank that hosts one of its experts.
constexpr uint32_t copy_slot(uint32_t token, uint32_t column, uint32_t slot_columns) {
    return slot_columns == 0 ? token : token * slot_columns + column;
}

// The counts of all threads in one bucket become exclusive prefixes. Returns their sum.
__simt_callee__ inline uint32_t prefix_bucket(__ubuf__ uint32_t* histogram, uint32_t buckets, uint32_t bucket) {
    uint32_t sum = 0;
    for (uint32_t thread = 0; thread < blockDim.x; ++thread) {
        const uint32_t count = histogram[thread * buckets + bucket];
        histogram[thread * buckets + bucket] = sum;
        sum += count;
    }
    return sum;
}

// Ranks of shared experts: those that serve this rank's tokens get all that are active.
__simt_callee__ inline void store_shared_counts(__gm__ uint32_t* expert_rows, __gm__ uint32_t* num_copies,
                                                uint32_t shared_ranks, uint32_t replicas, uint32_t rank,
                                                uint32_t num_active) {
    for (uint32_t to = 0; to < shared_ranks; ++to) {
        const uint32_t count = to % replicas == rank % replicas ? num_active : 0;
        asc_stcg(expert_rows + to, count);
        asc_stcg(num_copies + to, count);
    }
}

// What follows the entries: a word for each of the token's weights, where there are any, then zeros.
__simt_callee__ inline void finish_header(__gm__ uint32_t* from, __gm__ uint32_t* until, __gm__ uint32_t* weights,
                                          uint32_t token, uint32_t num_topk) {
    for (uint32_t column = 0; weights != nullptr && column < num_topk; ++column)
        asc_stcg(from++, asc_ldcg(weights + uint64_t(token) * num_topk + column));
    while (from < until)
        asc_stcg(from++, 0U);
}

// Thread t walks tokens [t * n / width, (t + 1) * n / width) in order, first counting, then placing; in between, the
// counts of all threads become exclusive prefixes per bucket. So order is kept and no thread looks at another's tokens.
// `histogram` holds blockDim.x rows of route_buckets words. `weights`: 0, or a word for each top-k column of the call.
// `slot_columns`: see copy_slot.
__simt_vf__ __launch_bounds__(1024) inline void route_tokens(
    __gm__ int32_t* live, __gm__ uint32_t* weights, __gm__ uint32_t* headers, __gm__ uint32_t* destinations,
    __gm__ uint32_t* num_copies, __gm__ uint32_t* expert_rows, __ubuf__ uint32_t* histogram, uint32_t num_tokens,
    uint32_t num_topk, uint32_t num_experts, uint32_t num_ranks, uint32_t rank, uint32_t num_shared,
    uint32_t shared_ranks, uint32_t copies_per_source, uint32_t header_words, uint32_t slot_columns) {
    const uint32_t buckets = route_buckets(num_experts, num_ranks, shared_ranks);
    const uint32_t experts_per_rank = num_experts / (num_ranks - shared_ranks);
    const uint32_t num_columns = num_topk + num_shared;
    const uint32_t replicas = num_shared != 0 ? shared_ranks / num_shared : 1;
    const uint32_t first = static_cast<uint32_t>(uint64_t(threadIdx.x) * num_tokens / blockDim.x);
    const uint32_t last = static_cast<uint32_t>(uint64_t(threadIdx.x + 1) * num_tokens / blockDim.x);
    __ubuf__ uint32_t* own = histogram + threadIdx.x * buckets;
    __ubuf__ uint32_t* own_copies = own + num_experts;
    __ubuf__ uint32_t* own_active = own_copies + num_ranks - shared_ranks;
    for (uint32_t bucket = 0; bucket < buckets; ++bucket)
        own[bucket] = 0;
    int32_t row[kMaxTopk + 1];
    for (uint32_t token = first; token < last; ++token) {
        load_live(live, token, num_topk, row);
        for (uint32_t column = 0; column < num_topk; ++column) {
            if (row[column] < 0) continue;
            ++own[row[column]];
            if (slot_columns != 0 || is_first_to_rank(row, column, experts_per_rank))
                ++own_copies[row[column] / experts_per_rank];
        }
        if (num_shared != 0 && row[num_topk] != 0) ++*own_active;
    }
    asc_syncthreads();
    for (uint32_t bucket = threadIdx.x; bucket < buckets; bucket += blockDim.x) {
        const uint32_t sum = prefix_bucket(histogram, buckets, bucket);
        if (bucket < num_experts) {
            asc_stcg(expert_rows + shared_ranks + bucket, sum);
        } else if (bucket < num_experts + num_ranks - shared_ranks) {
            asc_stcg(num_copies + shared_ranks + (bucket - num_experts), sum);
        } else {
            store_shared_counts(expert_rows, num_copies, shared_ranks, replicas, rank, sum);
        }
    }
    asc_syncthreads();
    for (uint32_t token = first; token < last; ++token) {
        __gm__ uint32_t* header = headers + uint64_t(token) * header_words;
        asc_stcg(header, rank | (num_columns << 16));
        asc_stcg(header + 1, pack_token(token, kAllColumns));
        __gm__ uint32_t* to_word = header + 2;
        load_live(live, token, num_topk, row);
        for (uint32_t column = 0; column < num_topk; ++column) {
            const bool is_live = row[column] >= 0;
            asc_stcg(to_word++, is_live ? pack_entry(static_cast<uint32_t>(row[column]), own[row[column]]++)
                                        : pack_entry(kNoExpert, 0));
            if (!is_live || (slot_columns == 0 && !is_first_to_rank(row, column, experts_per_rank))) continue;
            const uint32_t host = static_cast<uint32_t>(row[column]) / experts_per_rank;
            asc_stcg(destinations + uint64_t(shared_ranks + host) * copies_per_source + own_copies[host]++,
                     copy_slot(token, column, slot_columns));
        }
        const bool is_sent_to_shared = num_shared != 0 && row[num_topk] != 0;
        for (uint32_t shared = 0; shared < num_shared; ++shared) {
            const uint64_t host = shared_host(shared, replicas, rank);
            if (is_sent_to_shared) {
                asc_stcg(destinations + host * copies_per_source + *own_active,
                         copy_slot(token, num_topk + shared, slot_columns));
            }
            asc_stcg(to_word++,
                     is_sent_to_shared ? pack_entry(num_experts + shared, *own_active) : pack_entry(kNoExpert, 0));
        }
        if (is_sent_to_shared) ++*own_active;
        finish_header(to_word, header + header_words, weights, token, num_topk);
    }
    asc_threadfence();
}

// This core sorts the live table.
__aicore__ inline void sort_tokens(CoreContext& ctx, const DispatchTiling& tiling) {
    const CommonTiling& common = tiling.common;
    const uint32_t buckets = route_buckets(common.num_experts, common.num_ranks, common.shared_expert_rank_num);
    const bool is_per_expert = tiling.copy_mode == static_cast<uint32_t>(CopyMode::kPerExpert);
    const uint64_t weights = common.signature.has_expert_scales != 0 ? tiling.expert_scales : 0;
    AscendC::TBuf<AscendC::TPosition::VECCALC> histogram;
    ctx.pipe->InitBuffer(histogram, static_cast<uint32_t>(align_up(uint64_t(tiling.route_width) * buckets * 4, 32)));
    asc_vf_call<route_tokens>(
        dim3(tiling.route_width), (__gm__ int32_t*)workspace_region(ctx, WorkspaceRegion::kLiveIds),
        (__gm__ uint32_t*)weights, (__gm__ uint32_t*)workspace_region(ctx, WorkspaceRegion::kHeaders),
        (__gm__ uint32_t*)workspace_region(ctx, WorkspaceRegion::kDestinations),
        (__gm__ uint32_t*)workspace_region(ctx, WorkspaceRegion::kNumCopies),
        (__gm__ uint32_t*)workspace_region(ctx, WorkspaceRegion::kExpertRows), ub_pointer(histogram.Get<uint32_t>()),
        common.num_tokens, common.num_topk, common.num_experts, common.num_ranks, common.rank, common.shared_expert_num,
        common.shared_expert_rank_num, common.window.copies_per_source,
        tiling.token.header_bytes / static_cast<uint32_t>(sizeof(uint32_t)), is_per_expert ? common.num_columns : 0);
    sync<AscendC::HardEvent::V_S>();
}

// Runs the route role on this core and publishes the table, or why there is none.
__aicore__ inline void route(CoreContext& ctx, const DispatchTiling& tiling) {
    enter_stage(ctx, Stage::kRoute);
    AscendC::TBuf<AscendC::TPosition::VECCALC> found;
    ctx.pipe->InitBuffer(found, kUnitBytes);
    AscendC::LocalTensor<uint32_t> words = found.Get<uint32_t>();
    start_mark_live(ctx, tiling.expert_ids, tiling.route_width, words);
    sync<AscendC::HardEvent::V_S>();
    const uint32_t bad = words.GetValue(0);
    const Refusal refusal = ids_refusal(tiling.common, tiling.expert_ids, bad);
    if (refusal.code == Code::kOk) sort_tokens(ctx, tiling);
    save_refusal(ctx, 0, refusal);
    // ORDER P1: table and refusal, then the flag.
    publish(ctx, &ctx.page->route.word, static_cast<uint32_t>(refusal.code));
    reset_ub(ctx);
}

// Waits for the routing table. False: there is none (refused, or the operation failed).
__aicore__ inline bool wait_route(CoreContext& ctx) {
    uint32_t code = 0;
    return wait_flag(ctx, Stage::kRoute, &ctx.page->route.word, code) && code == 0;
}

}  // namespace ascend_deepep::kernel

#endif  // ASCEND_DEEPEP_DISPATCH_ROUTE_H
