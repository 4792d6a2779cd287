// SPDX-License-Identifier: Apache-2.0
// Layer: simulator.
#include "simulator/scenario/player.h"

#include "simulator/scenario/oracle.h"

namespace ascend_deepep::simulator {
namespace {

// An expert that the token has not chosen.
int32_t free_expert(const Batch& batch, uint32_t token) {
    const auto row = batch.expert_ids.begin() + int64_t{token} * batch.num_topk;
    int32_t expert = 0;
    while (std::find(row, row + batch.num_topk, expert) != row + batch.num_topk)
        ++expert;
    return expert;
}

}  // namespace

std::vector<uint16_t> expert_output(const Channel& channel, uint32_t rank, const DispatchResult& got) {
    const CallShape& shape = channel.shape;
    const Features& f = shape.features;
    const uint32_t num_ranks = channel.config.limits.num_ranks;
    const ExpertRange experts =
        experts_of(f, static_cast<int>(num_ranks), static_cast<int>(shape.num_experts), static_cast<int>(rank));
    std::vector<uint16_t> result(size_t{got.capacity_rows} * shape.hidden, 0xFFFF);
    uint32_t row = 0;
    for (uint32_t block = 0; block < got.ep_recv_counts.size(); ++block) {
        const int expert = experts.first + static_cast<int>(block / num_ranks);
        for (; row < static_cast<uint32_t>(got.ep_recv_counts[block]); ++row) {
            const auto* const triple = reinterpret_cast<const uint32_t*>(got.assist_info.data()) + row * kTripleWords;
            for (uint32_t h = 0; h < shape.hidden; ++h) {
                const size_t at = size_t{row} * shape.hidden + h;
                result[at] = has_made_outputs(f) ? made_output(combine_dtype(f), triple[0], triple[1], triple[2], h)
                                                 : expert_step(f.dtype, got.expand_x[at], expert);
            }
        }
    }
    return result;
}

bool can_spoil(const Batch& batch, uint32_t* token, uint32_t* column) {
    for (uint32_t pair = static_cast<uint32_t>(batch.expert_ids.size()); pair-- > 0;) {
        *token = pair / batch.num_topk;
        *column = pair % batch.num_topk;
        if (is_unmasked(batch, *token, *column)) return true;
    }
    return false;
}

void spoil_ids(OperationKind kind, Batch* batch) {
    uint32_t token = 0, column = 0;
    if (!can_spoil(*batch, &token, &column)) return;
    int32_t& id = batch->expert_ids[size_t{token} * batch->num_topk + column];
    if (kind == OperationKind::kDispatch) {
        id = static_cast<int32_t>(batch->num_experts);
    } else {
        id = id < 0 ? free_expert(*batch, token) : -1;
    }
}

void spoil(const Channel& channel, Act act, Batch* batch, DispatchResult* dispatched) {
    if (act == Act::kBadIds) {
        spoil_ids(OperationKind::kCombine, batch);
    } else if (act == Act::kForeignTag) {
        constexpr uint64_t kTagHigh = __builtin_offsetof(AssistTrailer, tag_high) / sizeof(int32_t);
        dispatched->assist_info[trailer_word(dispatched->capacity_rows) + kTagHigh] ^= 1;
    } else if (act == Act::kForeignTriple) {
        dispatched->assist_info[0] = static_cast<int32_t>(channel.config.limits.num_ranks);
    }
}

}  // namespace ascend_deepep::simulator
