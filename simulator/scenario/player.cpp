// SPDX-License-Identifier: Apache-2.0
// Layer: simulator.
#include "simulator/scenario/player.h"

#include "simulator/scenario/oracle.h"

namespace ascend_deepep::simulator {
namespace {

// An expert that the last token has not chosen.
int32_t free_expert(const Batch& batch) {
    const auto row = batch.expert_ids.end() - batch.num_topk;
    int32_t expert = 0;
    while (std::find(row, batch.expert_ids.end(), expert) != batch.expert_ids.end())
        ++expert;
    return expert;
}

}  // namespace

std::vector<uint16_t> expert_output(const Channel& channel, uint32_t rank, const DispatchResult& got) {
    const CommunicatorLimits& limits = channel.config.limits;
    std::vector<uint16_t> result(got.expand_x.size(), 0xFFFF);
    uint32_t row = 0;
    for (uint32_t block = 0; block < got.ep_recv_counts.size(); ++block) {
        const int expert = static_cast<int>(rank * local_experts(limits) + block / limits.num_ranks);
        for (; row < static_cast<uint32_t>(got.ep_recv_counts[block]); ++row) {
            for (size_t at = size_t{row} * channel.shape.hidden; at < size_t{row + 1} * channel.shape.hidden; ++at)
                result[at] = expert_step(got.expand_x[at], expert);
        }
    }
    return result;
}

void spoil(const Channel& channel, Act act, Batch* batch, DispatchResult* dispatched) {
    if (act == Act::kBadIds) {
        int32_t& id = batch->expert_ids.back();
        id = id < 0 ? free_expert(*batch) : -1;
    } else if (act == Act::kForeignTag) {
        constexpr uint64_t kTagHigh = __builtin_offsetof(AssistTrailer, tag_high) / sizeof(int32_t);
        dispatched->assist_info[trailer_word(dispatched->capacity_rows) + kTagHigh] ^= 1;
    } else if (act == Act::kForeignTriple) {
        dispatched->assist_info[0] = static_cast<int32_t>(channel.config.limits.num_ranks);
    }
}

}  // namespace ascend_deepep::simulator
