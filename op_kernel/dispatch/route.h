// SPDX-License-Identifier: Apache-2.0
//
// Route: validates the ids and sorts (token, column) pairs by expert and token copies by rank, once for all roles.
// Layer: dispatch. docs/protocol.md, "Roles of dispatch". A stable counting sort: linear in tokens x top-k.
#ifndef ASCEND_DEEPEP_DISPATCH_ROUTE_H
#define ASCEND_DEEPEP_DISPATCH_ROUTE_H

#include "protocol/leave.h"
#include "routing/ids.h"

namespace ascend_deepep::kernel {

// Thread t walks tokens [t * n / width, (t + 1) * n / width) in order, first counting, then placing; in between, the
// counts of all threads become exclusive prefixes per bucket. Buckets: experts, then ranks. So order is kept and no
// thread looks at another's tokens. `histogram` holds blockDim.x rows of num_experts + num_ranks words.
__simt_vf__ __launch_bounds__(1024) inline void route_tokens(__gm__ int32_t* expert_ids, __gm__ uint32_t* headers,
                                                             __gm__ uint32_t* destinations, __gm__ uint32_t* num_copies,
                                                             __gm__ uint32_t* expert_rows, __ubuf__ uint32_t* histogram,
                                                             __ubuf__ uint32_t* error, uint32_t num_tokens,
                                                             uint32_t num_topk, uint32_t num_experts,
                                                             uint32_t num_ranks, uint32_t rank,
                                                             uint32_t copies_per_source, uint32_t header_words) {
    const uint32_t buckets = num_experts + num_ranks;
    const uint32_t local_experts = num_experts / num_ranks;
    const uint32_t first = static_cast<uint32_t>(uint64_t(threadIdx.x) * num_tokens / blockDim.x);
    const uint32_t last = static_cast<uint32_t>(uint64_t(threadIdx.x + 1) * num_tokens / blockDim.x);
    __ubuf__ uint32_t* own = histogram + threadIdx.x * buckets;
    for (uint32_t bucket = 0; bucket < buckets; ++bucket)
        own[bucket] = 0;
    if (threadIdx.x == 0) *error = kNoBadPair;
    asc_syncthreads();
    int32_t row[kMaxTopk];
    for (uint32_t token = first; token < last; ++token) {
        const uint32_t bad = load_ids(expert_ids, token, num_topk, num_experts, row);
        if (bad != kNoBadPair) asc_atomic_min(error, bad);
        for (uint32_t column = 0; column < num_topk; ++column) {
            if (row[column] < 0) continue;
            ++own[row[column]];
            if (is_first_to_rank(row, column, local_experts)) ++own[num_experts + row[column] / local_experts];
        }
    }
    asc_syncthreads();
    for (uint32_t bucket = threadIdx.x; bucket < buckets; bucket += blockDim.x) {
        uint32_t sum = 0;
        for (uint32_t thread = 0; thread < blockDim.x; ++thread) {
            const uint32_t count = histogram[thread * buckets + bucket];
            histogram[thread * buckets + bucket] = sum;
            sum += count;
        }
        if (bucket < num_experts) {
            asc_stcg(expert_rows + bucket, sum);
        } else {
            asc_stcg(num_copies + (bucket - num_experts), sum);
        }
    }
    asc_syncthreads();
    for (uint32_t token = first; token < last; ++token) {
        __gm__ uint32_t* header = headers + uint64_t(token) * header_words;
        asc_stcg(header, rank | (num_topk << 16));
        asc_stcg(header + 1, pack_token(token, kAllColumns));
        load_ids(expert_ids, token, num_topk, num_experts, row);
        for (uint32_t column = 0; column < num_topk; ++column) {
            uint32_t entry = pack_entry(kNoExpert, 0);
            if (row[column] >= 0) {
                entry = pack_entry(static_cast<uint32_t>(row[column]), own[row[column]]++);
                if (is_first_to_rank(row, column, local_experts)) {
                    const uint32_t to = static_cast<uint32_t>(row[column]) / local_experts;
                    asc_stcg(destinations + uint64_t(to) * copies_per_source + own[num_experts + to]++, token);
                }
            }
            asc_stcg(header + 2 + column, entry);
        }
        for (uint32_t word = 2 + num_topk; word < header_words; ++word)
            asc_stcg(header + word, 0U);
    }
    asc_threadfence();
}

// Runs the route role on this core and publishes the table, or why there is none.
__aicore__ inline void route(CoreContext& ctx, const DispatchTiling& tiling) {
    enter_stage(ctx, Stage::kRoute);
    const CommonTiling& common = tiling.common;
    const uint32_t buckets = common.num_experts + common.num_ranks;
    AscendC::TBuf<AscendC::TPosition::VECCALC> histogram, error;
    ctx.pipe->InitBuffer(histogram, static_cast<uint32_t>(align_up(uint64_t(tiling.route_width) * buckets * 4, 32)));
    ctx.pipe->InitBuffer(error, kUnitBytes);
    asc_vf_call<route_tokens>(dim3(tiling.route_width), (__gm__ int32_t*)tiling.expert_ids,
                              (__gm__ uint32_t*)workspace_region(ctx, WorkspaceRegion::kHeaders),
                              (__gm__ uint32_t*)workspace_region(ctx, WorkspaceRegion::kDestinations),
                              (__gm__ uint32_t*)workspace_region(ctx, WorkspaceRegion::kNumCopies),
                              (__gm__ uint32_t*)workspace_region(ctx, WorkspaceRegion::kExpertRows),
                              ub_pointer(histogram.Get<uint32_t>()), ub_pointer(error.Get<uint32_t>()),
                              common.num_tokens, common.num_topk, common.num_experts, common.num_ranks, common.rank,
                              common.window.copies_per_source,
                              tiling.token.header_bytes / static_cast<uint32_t>(sizeof(uint32_t)));
    sync<AscendC::HardEvent::V_S>();
    const Refusal refusal = ids_refusal(common, tiling.expert_ids, error.Get<uint32_t>().GetValue(0));
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
