// SPDX-License-Identifier: Apache-2.0
//
// Validation before the first row leaves: combine's inputs have passed through the caller's hands. Layer: combine.
// Triples must be those of a dispatch of this communicator, counts a running sum, ids and mask what dispatch got.
// Leaves the live table, which the reduce role reads.
#ifndef ASCEND_DEEPEP_COMBINE_VALIDATE_H
#define ASCEND_DEEPEP_COMBINE_VALIDATE_H

#include "protocol/leave.h"
#include "routing/ids.h"

namespace ascend_deepep::kernel {

// Words of the result: the smallest bad block and bad row, and the digests.
enum class BadWord : uint32_t { kBlock = 0, kRow = 1, kTripleDigest = 2, kIdDigest = 3, kCount = 4 };

// Blocks are (local expert, source rank) in row order. Within one, rows are of that source and tokens ascend: a token
// chooses an expert once. And the digest of the live table.
__simt_vf__ __launch_bounds__(1024) inline void check_triples(__gm__ int32_t* counts, __gm__ int32_t* triples,
                                                              __gm__ int32_t* live, __ubuf__ uint32_t* bad,
                                                              uint32_t num_blocks, uint32_t num_ranks,
                                                              uint32_t max_tokens, uint32_t num_columns,
                                                              uint32_t capacity_rows, uint32_t num_live_words) {
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
        for (int32_t row = begin; row < end; ++row) {
            __gm__ int32_t* triple = triples + uint64_t(row) * kTripleWords;
            const int32_t source = asc_ldcg(triple);
            const int32_t token = asc_ldcg(triple + 1);
            const uint32_t column = static_cast<uint32_t>(asc_ldcg(triple + 2));
            const bool is_good = source == static_cast<int32_t>(block % num_ranks) && token > before &&
                                 token < static_cast<int32_t>(max_tokens) && column < num_columns;
            if (!is_good) asc_atomic_min(bad + static_cast<uint32_t>(BadWord::kRow), static_cast<uint32_t>(row));
            digest += triple_digest(static_cast<uint32_t>(row), static_cast<uint32_t>(source),
                                    static_cast<uint32_t>(token), column);
            before = token;
        }
        asc_atomic_add(bad + static_cast<uint32_t>(BadWord::kTripleDigest), digest);
    }
    asc_atomic_add(bad + static_cast<uint32_t>(BadWord::kIdDigest), own_live_digest(live, num_live_words));
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
    const bool is_ours = trailer.magic == kAssistMagic && sequence < ctx.sequence &&
                         tag == make_tag(load(&ctx.page->state.tag_base), sequence);
    if (!is_ours) return refuse(tiling.common, Code::kForeignTriples, Field::kAssistInfo, 0, 0, 0);
    const uint32_t blocks = tiling.common.num_ranks * tiling.common.local_experts;
    const int32_t total = load((__gm__ int32_t*)tiling.ep_send_counts + blocks - 1);
    if (total != static_cast<int32_t>(trailer.num_rows)) {
        return refuse(tiling.common, Code::kBadCounts, Field::kEpSendCounts, blocks - 1, total, trailer.num_rows);
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
                               (__gm__ int32_t*)workspace_region(ctx, WorkspaceRegion::kLiveIds), ub_pointer(bad),
                               blocks, common.num_ranks, ctx.signature.max_tokens, common.num_columns,
                               tiling.capacity_rows, common.num_tokens * live_words(common.num_topk));
    sync<AscendC::HardEvent::V_S>();
    const uint32_t block = bad.GetValue(static_cast<uint32_t>(BadWord::kBlock));
    const uint32_t row = bad.GetValue(static_cast<uint32_t>(BadWord::kRow));
    const uint32_t pair = found.GetValue(0);
    const uint32_t triples = bad.GetValue(static_cast<uint32_t>(BadWord::kTripleDigest));
    const uint32_t ids = bad.GetValue(static_cast<uint32_t>(BadWord::kIdDigest));
    reset_ub(ctx);
    if (block != kNoBadPair) {
        return refuse(common, Code::kBadCounts, Field::kEpSendCounts, block,
                      load((__gm__ int32_t*)tiling.ep_send_counts + block), tiling.capacity_rows);
    }
    if (row != kNoBadPair) return triple_refusal(ctx, tiling, row);
    if (pair != kNoBadPair || tiling.capacity_rows == 0) return ids_refusal(common, tiling.expert_ids, pair);
    // Legal one by one, and yet not what dispatch gave out: rows would go to wrong slots, or some would never come.
    if (triples != trailer.triple_digest) return refuse(common, Code::kForeignTriples, Field::kAssistInfo, 0, 0, 0);
    if (ids != trailer.id_digest) return refuse(common, Code::kOtherIds, Field::kExpertIds, 0, 0, 0);
    return Refusal{};
}

}  // namespace ascend_deepep::kernel

#endif  // ASCEND_DEEPEP_COMBINE_VALIDATE_H
