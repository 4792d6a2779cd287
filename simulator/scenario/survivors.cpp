// SPDX-License-Identifier: Apache-2.0
// Layer: simulator.
#include "simulator/scenario/survivors.h"

#include <utility>

#include "simulator/scenario/draw_features.h"

namespace ascend_deepep::simulator {
namespace {

constexpr uint64_t kOtherTags = uint64_t{0x20000} << 32;  // far from those of the scenario's communicators

// The channel of the first communicator for fewer ranks, with tags and inputs of its own.
Channel new_channel(const Scenario& scenario, uint32_t number, uint32_t num_ranks) {
    Channel channel = channel_of(scenario, 0);
    fit_ranks(num_ranks, &channel.config.limits, &channel.shape);
    channel.number = number;
    channel.config.tag_base += kOtherTags;
    channel.config.first_index = 0;
    channel.seed += number;
    return channel;
}

}  // namespace

bool Meeting::all_have_come() const {
    for (uint32_t process = 0; process < world_.num_processes(); ++process) {
        if (!has_come_[process] && !world_.has_died(process)) return false;
    }
    return true;
}

void Meeting::decide() {
    is_decided_ = true;
    std::vector<uint32_t> living;
    for (uint32_t process = 0; process < world_.num_processes(); ++process) {
        if (!world_.has_died(process)) living.push_back(process);
    }
    if (!any_failed_ && living.size() == world_.num_processes()) return;
    world_.heal();
    const Channel channel = new_channel(scenario_, world_.num_communicators(), static_cast<uint32_t>(living.size()));
    const uint32_t number = world_.add_communicator(channel.config, living);
    inputs_ = std::make_unique<Inputs>(channel);
    if (!scenario_.uses_memory_again) return;
    sim::WindowArena& arena = world_.communicator(number).arena();
    for (uint32_t rank = 0; rank < living.size(); ++rank)
        arena.use_again(rank, world_.communicator(0).arena(), living[rank]);
}

Inputs* Meeting::meet(uint32_t process, bool has_failed) {
    has_come_[process] = true;
    any_failed_ = any_failed_ || has_failed;
    while (!is_decided_) {
        if (all_have_come()) {
            decide();
        } else {
            world_.host_sleeps(world_.shared().timeout_ns / 16);
        }
    }
    return inputs_.get();
}

}  // namespace ascend_deepep::simulator
