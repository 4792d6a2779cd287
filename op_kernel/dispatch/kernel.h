// SPDX-License-Identifier: Apache-2.0
//
// dispatch_v2, one core: which roles it plays, in which order. Layer: dispatch. docs/protocol.md, "Roles of dispatch".
#ifndef ASCEND_DEEPEP_DISPATCH_KERNEL_H
#define ASCEND_DEEPEP_DISPATCH_KERNEL_H

#include "dispatch/collect.h"
#include "dispatch/doorbell.h"

namespace ascend_deepep::kernel {

// Counts say nothing after a refusal or a failure.
__aicore__ inline void zero_counts(CoreContext& ctx, const DispatchTiling& tiling) {
    if (tiling.ep_recv_counts == 0) return;
    const uint32_t blocks = tiling.common.num_ranks * tiling.common.local_experts;
    for (uint32_t i = 0; i < blocks; ++i)
        store((__gm__ int32_t*)tiling.ep_recv_counts + i, int32_t(0));
    for (uint32_t i = 0; i < tiling.common.local_experts; ++i) {
        store((__gm__ int64_t*)tiling.expert_token_nums + i, int64_t(0));
    }
    reset_ub(ctx);
}

// Digests of the triples, which all cores have written by now, of the chains, where there are any, and of this rank's
// live table.
__simt_vf__ __launch_bounds__(1024) inline void digest_call(__gm__ int32_t* triples, __gm__ uint32_t* chains,
                                                            __gm__ int32_t* live, __ubuf__ uint32_t* digests,
                                                            uint32_t num_rows, uint32_t num_words) {
    if (threadIdx.x < 2) digests[threadIdx.x] = 0;
    asc_syncthreads();
    uint32_t sum = 0;
    for (uint32_t row = threadIdx.x; row < num_rows; row += blockDim.x) {
        __gm__ int32_t* triple = triples + uint64_t(row) * kTripleWords;
        sum += triple_digest(row, static_cast<uint32_t>(asc_ldcg(triple)), static_cast<uint32_t>(asc_ldcg(triple + 1)),
                             static_cast<uint32_t>(asc_ldcg(triple + 2)));
        if (chains == nullptr) continue;
        __gm__ uint32_t* chain = chains + uint64_t(row) * kChainWords;
        sum += chain_digest(row, asc_ldcg(chain), asc_ldcg(chain + 1));
    }
    asc_atomic_add(digests, sum);
    asc_atomic_add(digests + 1, own_live_digest(live, num_words));
}

__aicore__ inline void write_trailer(CoreContext& ctx, const DispatchTiling& tiling, uint32_t num_rows) {
    if (tiling.assist_trailer_offset == 0) return;
    reset_ub(ctx);
    AscendC::TBuf<AscendC::TPosition::VECCALC> buffer;
    ctx.pipe->InitBuffer(buffer, kUnitBytes);
    AscendC::LocalTensor<uint32_t> digests = buffer.Get<uint32_t>();
    const bool has_chains = sums_by_rank(tiling.common);
    __gm__ uint32_t* chains = (__gm__ uint32_t*)tiling.assist_info + chain_word(tiling.assist_trailer_offset, 0);
    asc_vf_call<digest_call>(dim3(tiling.common.simt_width), (__gm__ int32_t*)tiling.assist_info,
                             has_chains ? chains : (__gm__ uint32_t*)nullptr,
                             (__gm__ int32_t*)workspace_region(ctx, WorkspaceRegion::kLiveIds), ub_pointer(digests),
                             num_rows, tiling.common.num_tokens * live_words(tiling.common.num_topk));
    sync<AscendC::HardEvent::V_S>();
    AssistTrailer trailer{};
    trailer.triple_digest = digests.GetValue(0);
    trailer.id_digest = digests.GetValue(1);
    const bool has_weights = tiling.common.signature.has_expert_scales != 0;
    trailer.magic = !has_chains ? kAssistMagic : has_weights ? kAssistMagicWeightedChains : kAssistMagicChains;
    trailer.num_rows = num_rows;
    trailer.tag_low = static_cast<uint32_t>(ctx.tag);
    trailer.tag_high = static_cast<uint32_t>(ctx.tag >> 32);
    trailer.sequence_low = static_cast<uint32_t>(ctx.sequence);
    trailer.sequence_high = static_cast<uint32_t>(ctx.sequence >> 32);
    store_struct((GM_ADDR)tiling.assist_info + tiling.assist_trailer_offset * sizeof(int32_t), trailer);
}

// The last core: rule H's numbers, outputs of the whole, outcome.
__aicore__ inline void close_dispatch(CoreContext& ctx, const DispatchTiling& tiling) {
    const uint64_t abort_word = final_abort(ctx);
    const bool has_failed = abort_word != 0;
    // After a failure the cells may be from another operation, or never written.
    const Refusal refusal = has_failed ? Refusal{} : final_refusal(ctx, 1 + tiling.cumsum.count);
    uint32_t num_rows = 0;
    if (has_failed || refusal.code != Code::kOk) {
        zero_counts(ctx, tiling);
    } else {
        const uint32_t blocks = tiling.common.num_ranks * tiling.common.local_experts;
        num_rows = static_cast<uint32_t>(load((__gm__ int32_t*)tiling.ep_recv_counts + blocks - 1));
        write_trailer(ctx, tiling, num_rows);
    }
    if (!has_failed) keep_min_consumed(ctx, tiling.cumsum);
    close_operation(ctx, refusal, abort_word, num_rows);
}

// `tiling` may come with addresses of its own: an operator package gets its tensors as arguments of the entry.
__aicore__ inline void run_dispatch(AscendC::TPipe& pipe, const DispatchTiling& tiling) {
    CoreContext ctx;
    enter_operation(ctx, tiling.common, OperationKind::kDispatch, &pipe);
    const uint32_t cumsum_index = index_in(ctx, tiling.cumsum);
    // A communicator that broke before: nothing leaves this rank any more.
    if (!ctx.has_failed && tiling.common.is_refused == 0) {
        if (cumsum_index == 0) route(ctx, tiling);  // it could not post a message before
        const uint32_t stage_index = index_in(ctx, tiling.stage);
        if (stage_index < tiling.stage.count) stage(ctx, tiling, stage_index);
        const uint32_t builder_index = index_in(ctx, tiling.wqe_builder);
        if (builder_index < tiling.wqe_builder.count) wqe_builder(ctx, tiling, builder_index);
        const uint32_t doorbell_index = index_in(ctx, tiling.doorbell);
        if (doorbell_index < tiling.doorbell.count) doorbell(ctx, tiling, doorbell_index);
        if (cumsum_index < tiling.cumsum.count) cumsum(ctx, tiling, cumsum_index);
        reset_ub(ctx);
        enter_stage(ctx, Stage::kPrefix);  // what collect waits for first: time of no sending role
        if (!ctx.has_failed) collect(ctx, tiling);
    } else if (!ctx.has_failed && cumsum_index < tiling.cumsum.count) {
        cumsum(ctx, tiling, cumsum_index);
    }
    if (arrive(ctx)) close_dispatch(ctx, tiling);
    AscendC::PipeBarrier<PIPE_ALL>();
}

__aicore__ inline void run_dispatch(GM_ADDR tiling_address) {
    AscendC::TPipe pipe;
    DispatchTiling tiling;
    load_struct(&tiling, tiling_address);
    run_dispatch(pipe, tiling);
}

}  // namespace ascend_deepep::kernel

#endif  // ASCEND_DEEPEP_DISPATCH_KERNEL_H
