// SPDX-License-Identifier: Apache-2.0
//
// Validation of the chains, by which rows of one token are summed before they return. Layer: combine.
// docs/protocol.md, "Sums by rank", P14.
#ifndef ASCEND_DEEPEP_COMBINE_CHAINS_H
#define ASCEND_DEEPEP_COMBINE_CHAINS_H

#include "routing/ids.h"

namespace ascend_deepep::kernel {

// Words of the result; a count of partials for each rank follows.
enum class ChainWord : uint32_t { kDigest = 0, kBad = 1, kPartials = 2 };

// `row` and `next` are of one token, columns ascend, and `next` knows `row` for its previous one.
__simt_callee__ inline bool is_link(__gm__ int32_t* triples, __gm__ uint32_t* chains, uint32_t row, uint32_t next,
                                    uint32_t num_rows) {
    if (next >= num_rows) return false;
    __gm__ int32_t* from = triples + uint64_t(row) * kTripleWords;
    __gm__ int32_t* to = triples + uint64_t(next) * kTripleWords;
    return asc_ldcg(from) == asc_ldcg(to) && asc_ldcg(from + 1) == asc_ldcg(to + 1) &&
           asc_ldcg(from + 2) < asc_ldcg(to + 2) && asc_ldcg(chains + uint64_t(next) * kChainWords + 1) == row + 1;
}

// Links that agree in both directions and ascend make each row part of exactly one chain with an end: no row is summed
// twice or left out, whatever the digest says. `triples` have been checked. Leaves the number of chains of each source.
__simt_vf__ __launch_bounds__(1024) inline void check_chains(__gm__ int32_t* triples, __gm__ uint32_t* chains,
                                                             __gm__ uint32_t* partials, __ubuf__ uint32_t* found,
                                                             uint32_t num_rows, uint32_t num_ranks) {
    constexpr uint32_t kPartials = static_cast<uint32_t>(ChainWord::kPartials);
    for (uint32_t word = threadIdx.x; word < kPartials + num_ranks; word += blockDim.x)
        found[word] = 0;
    asc_syncthreads();
    uint32_t digest = 0, num_bad = 0;
    for (uint32_t row = threadIdx.x; row < num_rows; row += blockDim.x) {
        __gm__ uint32_t* chain = chains + uint64_t(row) * kChainWords;
        const uint32_t next = asc_ldcg(chain);
        const uint32_t previous = asc_ldcg(chain + 1);
        digest += chain_digest(row, next, previous);
        if (next != 0 && !is_link(triples, chains, row, next - 1, num_rows)) ++num_bad;
        if (previous == 0) {
            const uint32_t source = static_cast<uint32_t>(asc_ldcg(triples + uint64_t(row) * kTripleWords));
            asc_atomic_add(found + kPartials + source, 1U);
        } else if (previous > num_rows || asc_ldcg(chains + uint64_t(previous - 1) * kChainWords) != row + 1) {
            ++num_bad;
        }
    }
    asc_atomic_add(found + static_cast<uint32_t>(ChainWord::kDigest), digest);
    asc_atomic_add(found + static_cast<uint32_t>(ChainWord::kBad), num_bad);
    asc_syncthreads();
    for (uint32_t rank = threadIdx.x; rank < num_ranks; rank += blockDim.x)
        asc_stcg(partials + rank, found[kPartials + rank]);
    asc_threadfence();  // ORDER P14: what send and doorbell count by
}

// What the chains come to.
struct ChainResult {
    uint32_t digest;
    bool is_good;
};

__aicore__ inline ChainResult validate_chains(CoreContext& ctx, const CombineTiling& tiling, uint32_t num_rows) {
    if (!sums_by_rank(tiling.common)) return ChainResult{0, true};
    const uint32_t words = static_cast<uint32_t>(ChainWord::kPartials) + tiling.common.num_ranks;
    AscendC::TBuf<AscendC::TPosition::VECCALC> buffer;
    ctx.pipe->InitBuffer(buffer, static_cast<uint32_t>(align_up(words * sizeof(uint32_t), kUnitBytes)));
    AscendC::LocalTensor<uint32_t> found = buffer.Get<uint32_t>();
    asc_vf_call<check_chains>(dim3(tiling.common.simt_width), (__gm__ int32_t*)tiling.assist_info,
                              (__gm__ uint32_t*)tiling.assist_info + chain_word(tiling.assist_trailer_offset, 0),
                              (__gm__ uint32_t*)workspace_region(ctx, WorkspaceRegion::kPartials), ub_pointer(found),
                              num_rows, tiling.common.num_ranks);
    sync<AscendC::HardEvent::V_S>();
    const ChainResult result{found.GetValue(static_cast<uint32_t>(ChainWord::kDigest)),
                             found.GetValue(static_cast<uint32_t>(ChainWord::kBad)) == 0};
    reset_ub(ctx);
    return result;
}

}  // namespace ascend_deepep::kernel

#endif  // ASCEND_DEEPEP_COMBINE_CHAINS_H
