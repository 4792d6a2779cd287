// SPDX-License-Identifier: Apache-2.0
// Part of checker "results": a good dispatch sends the copies that the routing asks for and no others. One for each
// rank that a token goes to, or one for each of its experts where copies differ; none for what is masked. Layer:
// simulator. Which bytes they hold shows in the rows; copies to the rank itself take no way and are not counted.
#pragma once

#include "simulator/scenario/scenario.h"

namespace ascend_deepep::simulator {

// What `rank` has sent to each peer so far.
std::vector<uint64_t> copies_sent(const Channel& channel, const sim::World& world, uint32_t rank);

// Of the batch's rank, since `before`. What is wrong, or nothing.
std::string copies_fault(const Channel& channel, const sim::World& world, const Batch& batch,
                         const std::vector<uint64_t>& before);

}  // namespace ascend_deepep::simulator
