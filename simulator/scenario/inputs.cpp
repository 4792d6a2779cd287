// SPDX-License-Identifier: Apache-2.0
// Layer: simulator.
#include "simulator/scenario/inputs.h"

#include <algorithm>

#include "contract/token_layout.h"
#include "simulator/scenario/oracle.h"
#include "simulator/scenario/player.h"

namespace ascend_deepep::simulator {
namespace {

constexpr uint64_t kLinkParts = 16;  // of a time-out: one is what a link may be busy with the rows of a call

void settle(const Channel& channel, std::vector<Operation>* operations) {
    Inputs inputs(channel);
    const CommunicatorLimits& limits = channel.config.limits;
    for (Operation& operation : *operations) {
        if (operation.act == Act::kGood || operation.act == Act::kHostRefuses) continue;
        const std::vector<Batch>& batches = inputs.round(operation.round);
        uint32_t token = 0, column = 0;
        if (operation.act == Act::kBadIds && !can_spoil(batches[operation.actor], &token, &column))
            operation.act = Act::kHostRefuses;
        if (operation.act == Act::kOtherCall && limits.num_ranks == 1) operation.act = Act::kHostRefuses;
        if (operation.act != Act::kForeignTriple) continue;
        const ExpectedRows rows =
            expected_dispatch(batches, static_cast<int>(channel.shape.num_experts), static_cast<int>(operation.actor));
        if (rows.counts.back() == 0) operation.act = Act::kHostRefuses;
    }
}

}  // namespace

const std::vector<Batch>& Inputs::round(uint32_t number) {
    while (rounds_.size() <= number) {
        auto batches = std::make_unique<std::vector<Batch>>();
        for (uint32_t rank = 0; rank < channel_.config.limits.num_ranks; ++rank)
            batches->push_back(make_batch(channel_, rank, static_cast<uint32_t>(rounds_.size())));
        rounds_.push_back(std::move(batches));
    }
    return *rounds_[number];
}

void settle_acts(Scenario* scenario) {
    settle(channel_of(*scenario, 0), &scenario->operations);
    if (scenario->second) settle(channel_of(*scenario, 1), &scenario->second->operations);
}

bool has_remote_row(const Scenario& scenario) {
    Inputs inputs[] = {Inputs(channel_of(scenario, 0)), Inputs(channel_of(scenario, 1))};
    for (const Operation& operation : all_operations(scenario)) {
        if (operation.kind != OperationKind::kDispatch || operation.act != Act::kGood) continue;
        const std::vector<Batch>& batches = inputs[operation.communicator].round(operation.round);
        const int num_ranks = static_cast<int>(batches.size());
        for (const Batch& batch : batches) {
            const int num_experts = static_cast<int>(batch.num_experts);
            for (int peer = 0; peer < num_ranks; ++peer) {
                if (peer != static_cast<int>(batch.rank) && expected_copies(batch, num_ranks, num_experts, peer) != 0)
                    return true;
            }
        }
    }
    return false;
}

uint64_t num_items(const Scenario& scenario) {
    uint64_t items = 0;
    for (const Operation& operation : all_operations(scenario)) {
        const Channel channel = channel_of(scenario, operation.communicator);
        const CommunicatorLimits& limits = channel.config.limits;
        const uint64_t columns = channel.shape.num_topk + channel.shape.features.shared_experts;
        items += uint64_t{limits.max_tokens} * columns + limits.num_ranks + limits.num_experts;
    }
    return items + (scenario.has_survivors ? items + scenario.world.limits.num_experts : 0);
}

uint64_t most_block_ns(const Scenario& scenario) {
    uint64_t blocks = 1;
    for (uint32_t number = 0; number < (scenario.second ? 2U : 1U); ++number) {
        const CommunicatorLimits limits = channel_of(scenario, number).config.limits;
        const uint64_t rows = uint64_t{limits.max_tokens} * num_columns(limits);
        blocks = std::max(blocks, rows * row_layout(limits.hidden, false).blocks);
    }
    return scenario.world.timeout_ns / kLinkParts / blocks;
}

}  // namespace ascend_deepep::simulator
