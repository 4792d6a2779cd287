// SPDX-License-Identifier: Apache-2.0
//
// Validation before the first row leaves: combine's inputs have passed through the caller's hands. Layer: combine.
// Triples must be those of a dispatch of this communicator, counts a running sum, ids and mask what dispatch got.
// Leaves the live table and the table of own rows, which the reduce role reads.
#ifndef ASCEND_DEEPEP_COMBINE_VALIDATE_H
#define ASCEND_DEEPEP_COMBINE_VALIDATE_H

#include "combine/chains.h"
#include "protocol/leave.h"

namespace ascend_deepep::kernel {

// Words of the result: the smallest bad block and bad row, the digests, and how many rows are of this rank's tokens.
enum class BadWord : uint32_t { kBlock = 0, kRow = 1, kTripleDigest = 2, kIdDigest = 3, kOwnRows = 4, kCount = 5 };

// Blocks are (local expert, source rank) in row order. Within one, rows are of that source and tokens ascend: a token
// chooses an expert once. And the digest of the live table. Rows of `rank` itself go to the table of own rows.
__simt_vf__ __launch_bounds__(1024) inline void check_triples(__gm__ int32_t* counts, __gm__ int32_t* triples,
                                                              __gm__ int32_t* live, __gm__ uint32_t* own_rows,
                                                              __ubuf__ uint32_t* bad, uint32_t num_blocks,
                                                              uint32_t num_ranks, uint32_t rank, uint32_t max_tokens,
                                                              uint32_t num_columns, uint32_t capacity_rows,
                                                              uint32_t num_live_words) {
    if (threadIdx.x < static_cast<uint32_t>(BadWord::kCount)) {
        bad[threadIdx.x] = threadIdx.x < static_cast<uint32_t>(BadWord::kTripleDigest) ? kNoBadPair : 0;
    }
    asc_syncthreads();
    for (uint32_t block = threadIdx.x; block < num_blocks; block += blockDim.x) {
        const int32_t begin = block == 0 ? 0 : asc_ldcg(counts + block - 1);
        const int32_t end = asc_ldcg(counts + block);
        if (begin < 0 || begin > end || end > static_cast<int32_t>(capacity_rows)) {
            asc_atomic_min(bad + static_cast<uint32_t>(BadWord::kBlock), block);
            continue;
        }
        int32_t before = -1;
        uint32_t digest = 0;
        const bool is_own = block % num_ranks == rank;
        for (int32_t row = begin; row < end; ++row) {
            __gm__ int32_t* triple = triples + uint64_t(row) * kTripleWords;
            const int32_t source = asc_ldcg(triple);
            const int32_t token = asc_ldcg(triple + 1);
            const uint32_t column = static_cast<uint32_t>(asc_ldcg(triple + 2));
            const bool is_good = source == static_cast<int32_t>(block % num_ranks) && token > before &&
                                 token < static_cast<int32_t>(max_tokens) && column < num_columns;
            if (!is_good) asc_atomic_min(bad + static_cast<uint32_t>(BadWord::kRow), static_cast<uint32_t>(row));
            if (is_good && is_own)
                asc_stcg(own_rows + uint64_t(token) * num_columns + column, static_cast<uint32_t>(row));
            digest += triple_digest(static_cast<uint32_t>(row), static_cast<uint32_t>(source),
                                    static_cast<uint32_t>(token), column);
            before = token;
        }
        asc_atomic_add(bad + static_cast<uint32_t>(BadWord::kTripleDigest), digest);
        if (is_own) asc_atomic_add(bad + static_cast<uint32_t>(BadWord::kOwnRows), static_cast<uint32_t>(end - begin));
    }
    asc_atomic_add(bad + static_cast<uint32_t>(BadWord::kIdDigest), own_live_digest(live, num_live_words));
    asc_threadfence();  // ORDER P14: the table of own rows
}

// Geometry that says which ranks host a token's columns.
struct Hosts {
    uint32_t rank;
    uint32_t num_topk;
    uint32_t experts_per_rank;
    uint32_t shared_ranks;
    uint32_t shared_replicas;
};

// The rank that hosts `column` of a token of `hosts.rank`; kMaxRanks when the column is not live. `row`: of the live
// table.
__simt_callee__ inline uint32_t host_of(const Hosts& hosts, const int32_t* row, uint32_t column) {
    if (column >= hosts.num_topk) {
        if (row[hosts.num_topk] == 0) return kMaxRanks;
        return shared_host(column - hosts.num_topk, hosts.shared_replicas, hosts.rank);
    }
    if (row[column] < 0) return kMaxRanks;
    return routed_host(static_cast<uint32_t>(row[column]), hosts.experts_per_rank, hosts.shared_ranks);
}

// Reduce reads expand_x by the table of own rows, so it relies on no digest, nor on what the table held before: the
// row of each own pair that is live is one of the rows, and its triple names the pair. `found`: how many such pairs
// there are, then how many have no such row.
__simt_vf__ __launch_bounds__(1024) inline void check_own_rows(__gm__ int32_t* triples, __gm__ int32_t* live,
                                                               __gm__ uint32_t* own_rows, __ubuf__ uint32_t* found,
                                                               uint32_t num_tokens, uint32_t num_rows, uint32_t rank,
                                                               uint32_t num_topk, uint32_t num_columns,
                                                               uint32_t experts_per_rank, uint32_t shared_ranks,
                                                               uint32_t shared_replicas) {
    const Hosts hosts{rank, num_topk, experts_per_rank, shared_ranks, shared_replicas};
    if (threadIdx.x < 2) found[threadIdx.x] = 0;
    asc_syncthreads();
    int32_t words[live_words(kMaxTopk)];
    uint32_t num_pairs = 0, num_bad = 0;
    for (uint32_t token = threadIdx.x; token < num_tokens; token += blockDim.x) {
        load_live(live, token, num_topk, words);
        for (uint32_t column = 0; column < num_columns; ++column) {
            if (host_of(hosts, words, column) != rank) continue;
            const uint32_t row = asc_ldcg(own_rows + uint64_t(token) * num_columns + column);
            bool is_good = row < num_rows;
            if (is_good) {
                __gm__ int32_t* triple = triples + uint64_t(row) * kTripleWords;
                is_good = asc_ldcg(triple) == static_cast<int32_t>(rank) &&
                          asc_ldcg(triple + 1) == static_cast<int32_t>(token) &&
                          asc_ldcg(triple + 2) == static_cast<int32_t>(column);
            }
            ++num_pairs;
            if (!is_good) ++num_bad;
        }
    }
    asc_atomic_add(found, num_pairs);
    asc_atomic_add(found + 1, num_bad);
}

__aicore__ inline Refusal refuse(const CommonTiling& tiling, Code code, Field field, uint32_t token, int64_t got,
                                 int64_t limit) {
    return Refusal{code, field, token, 0, got, limit, tiling.rank, 0};
}

// The trailer says which dispatch the triples belong to: it completes the call signature.
__aicore__ inline Refusal check_trailer(CoreContext& ctx, const CombineTiling& tiling, AssistTrailer& trailer) {
    if (tiling.capacity_rows == 0) return Refusal{};
    // In 32-bit words: the tensor may begin at any of its elements.
    __gm__ uint32_t* from = (__gm__ uint32_t*)tiling.assist_info + tiling.assist_trailer_offset;
    uint32_t* words = reinterpret_cast<uint32_t*>(&trailer);
    for (uint32_t i = 0; i < sizeof(AssistTrailer) / sizeof(uint32_t); ++i)
        words[i] = load(from + i);
    const uint64_t sequence = trailer.sequence_low | (uint64_t(trailer.sequence_high) << 32);
    const uint64_t tag = trailer.tag_low | (uint64_t(trailer.tag_high) << 32);
    const bool has_weights = trailer.magic == kAssistMagicWeightedChains;
    const bool has_chains = trailer.magic == kAssistMagicChains || has_weights;
    const bool is_known = sums_by_rank(tiling.common) ? has_chains : trailer.magic == kAssistMagic;
    const bool is_ours =
        is_known && sequence < ctx.sequence && tag == make_tag(load(&ctx.page->state.tag_base), sequence);
    if (!is_ours) return refuse(tiling.common, Code::kForeignTriples, Field::kAssistInfo, 0, 0, 0);
    const uint32_t blocks = tiling.common.num_ranks * tiling.common.local_experts;
    const int32_t total = load((__gm__ int32_t*)tiling.ep_send_counts + blocks - 1);
    if (total != static_cast<int32_t>(trailer.num_rows)) {
        return refuse(tiling.common, Code::kBadCounts, Field::kEpSendCounts, blocks - 1, total, trailer.num_rows);
    }
    if (tiling.expand_scales != 0 && !has_weights) {
        return refuse(tiling.common, Code::kMissing, Field::kExpandScales, 0, 0,
                      static_cast<int64_t>(Field::kAssistInfo));
    }
    ctx.signature.dispatch_low = trailer.sequence_low;
    ctx.signature.dispatch_high = trailer.sequence_high;
    return Refusal{};
}

// Which word of a bad triple is to blame; the source rank when it is the triple's place that is wrong.
__aicore__ inline Refusal triple_refusal(const CoreContext& ctx, const CombineTiling& tiling, uint32_t row) {
    const CommonTiling& common = tiling.common;
    __gm__ int32_t* triple = (__gm__ int32_t*)tiling.assist_info + uint64_t(row) * kTripleWords;
    const uint32_t limits[kTripleWords] = {common.num_ranks, ctx.signature.max_tokens, common.num_columns};
    uint32_t word = 0;
    for (uint32_t i = 0; i < kTripleWords; ++i) {
        if (static_cast<uint32_t>(load(triple + i)) >= limits[i]) word = i;
    }
    Refusal refusal = refuse(common, Code::kBadTriple, Field::kAssistInfo, row, load(triple + word), limits[word]);
    refusal.column = word;
    return refusal;
}

// Each own pair that is live has exactly one row: as many rows as pairs, and each pair's row names the pair.
__aicore__ inline Refusal own_rows_refusal(CoreContext& ctx, const CombineTiling& tiling, uint32_t num_rows,
                                           uint32_t own_rows) {
    const CommonTiling& common = tiling.common;
    AscendC::TBuf<AscendC::TPosition::VECCALC> buffer;
    ctx.pipe->InitBuffer(buffer, kUnitBytes);
    AscendC::LocalTensor<uint32_t> found = buffer.Get<uint32_t>();
    asc_vf_call<check_own_rows>(dim3(common.simt_width), (__gm__ int32_t*)tiling.assist_info,
                                (__gm__ int32_t*)workspace_region(ctx, WorkspaceRegion::kLiveIds),
                                (__gm__ uint32_t*)workspace_region(ctx, WorkspaceRegion::kOwnRows), ub_pointer(found),
                                common.num_tokens, num_rows, common.rank, common.num_topk, common.num_columns,
                                common.experts_per_rank, common.shared_expert_rank_num, common.shared_replicas);
    sync<AscendC::HardEvent::V_S>();
    const uint32_t pairs = found.GetValue(0);
    const uint32_t bad = found.GetValue(1);
    reset_ub(ctx);
    if (bad == 0 && pairs == own_rows) return Refusal{};
    return refuse(common, Code::kForeignTriples, Field::kAssistInfo, 0, 0, 0);
}

// The first thing wrong with this rank's inputs, or code kOk.
__aicore__ inline Refusal validate(CoreContext& ctx, const CombineTiling& tiling) {
    const CommonTiling& common = tiling.common;
    AssistTrailer trailer{};
    const Refusal foreign = check_trailer(ctx, tiling, trailer);
    if (foreign.code != Code::kOk) return foreign;
    const uint32_t blocks = common.num_ranks * common.local_experts;
    AscendC::TBuf<AscendC::TPosition::VECCALC> live_buffer, buffer;
    ctx.pipe->InitBuffer(live_buffer, kUnitBytes);
    ctx.pipe->InitBuffer(buffer, kUnitBytes);
    AscendC::LocalTensor<uint32_t> found = live_buffer.Get<uint32_t>();
    AscendC::LocalTensor<uint32_t> bad = buffer.Get<uint32_t>();
    start_mark_live(ctx, tiling.expert_ids, common.simt_width, found);
    asc_vf_call<check_triples>(dim3(common.simt_width), (__gm__ int32_t*)tiling.ep_send_counts,
                               (__gm__ int32_t*)tiling.assist_info,
                               (__gm__ int32_t*)workspace_region(ctx, WorkspaceRegion::kLiveIds),
                               (__gm__ uint32_t*)workspace_region(ctx, WorkspaceRegion::kOwnRows), ub_pointer(bad),
                               blocks, common.num_ranks, common.rank, ctx.signature.max_tokens, common.num_columns,
                               tiling.capacity_rows, common.num_tokens * live_words(common.num_topk));
    sync<AscendC::HardEvent::V_S>();
    const uint32_t block = bad.GetValue(static_cast<uint32_t>(BadWord::kBlock));
    const uint32_t row = bad.GetValue(static_cast<uint32_t>(BadWord::kRow));
    const uint32_t pair = found.GetValue(0);
    const uint32_t triples = bad.GetValue(static_cast<uint32_t>(BadWord::kTripleDigest));
    const uint32_t ids = bad.GetValue(static_cast<uint32_t>(BadWord::kIdDigest));
    const uint32_t own_rows = bad.GetValue(static_cast<uint32_t>(BadWord::kOwnRows));
    reset_ub(ctx);
    if (block != kNoBadPair) {
        return refuse(common, Code::kBadCounts, Field::kEpSendCounts, block,
                      load((__gm__ int32_t*)tiling.ep_send_counts + block), tiling.capacity_rows);
    }
    if (row != kNoBadPair) return triple_refusal(ctx, tiling, row);
    if (pair != kNoBadPair) return ids_refusal(common, tiling.expert_ids, pair);
    if (tiling.capacity_rows == 0) return own_rows_refusal(ctx, tiling, 0, 0);
    // Legal one by one, and yet not what dispatch gave out: rows would go to wrong slots, or some would never come.
    const ChainResult chains = validate_chains(ctx, tiling, trailer.num_rows);
    if (!chains.is_good || triples + chains.digest != trailer.triple_digest)
        return refuse(common, Code::kForeignTriples, Field::kAssistInfo, 0, 0, 0);
    if (ids != trailer.id_digest) return refuse(common, Code::kOtherIds, Field::kExpertIds, 0, 0, 0);
    return own_rows_refusal(ctx, tiling, trailer.num_rows, own_rows);
}

}  // namespace ascend_deepep::kernel

#endif  // ASCEND_DEEPEP_COMBINE_VALIDATE_H
