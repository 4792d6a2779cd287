// SPDX-License-Identifier: Apache-2.0
// The shapes that the benchmark times, as worlds: full rows, all of a layer's experts, its ranks and routings, bf16 and
// per-token int8. Layer: simulator.
#pragma once

#include <string>

#include "simulator/scenario/scenario.h"

namespace ascend_deepep::simulator {

constexpr uint32_t kTimedHidden = 7168, kTimedTopk = 8, kTimedExperts = 256;
constexpr uint32_t kTimedRanks[] = {2, 4, 8};
// Of the decode steps those that a world of full rows takes in a tenth of a second; tests/python/sim/test_timed.py has
// the larger ones, and prefill.
constexpr uint32_t kTimedTokens[] = {1, 8};
constexpr Quant kTimedQuants[] = {Quant::kNone, Quant::kTokenInt8};
constexpr uint32_t kTimedKinds = 3 * 2 * 2 * static_cast<uint32_t>(Routing::kCount);
// From this seed on every 25th is one, in turn: 1000 seeds have each. Mutants are found by earlier ones, which small
// worlds serve better.
constexpr uint64_t kFirstTimed = 88, kTimedOneIn = 25;
static_assert(kFirstTimed + kTimedOneIn * (kTimedKinds - 1) <= 1000);

// Where the seed stands for one, its world becomes one: a dispatch and its combine, with the cores, queues, schedule
// and fault that it has drawn.
void draw_timed(uint64_t seed, Scenario* scenario);

// Which of them the calls of a communicator are, such as "4 ranks, 8 tokens, pertoken-int8, gate"; empty: none. Any
// number of tokens.
std::string timed_kind(const CommunicatorLimits& limits, const CallShape& shape);

}  // namespace ascend_deepep::simulator
