// SPDX-License-Identifier: Apache-2.0
// Features of a communicator's calls: drawn, named, and kept legal when its ranks change. Layer: simulator.
#pragma once

#include <string>
#include <vector>

#include "simulator/scenario/scenario.h"

namespace ascend_deepep::simulator {

// From a seed of their own: what else a seed draws does not depend on them. `limits` and `shape` are drawn.
void draw_features(uint64_t seed, CommunicatorLimits* limits, CallShape* shape);

// The same calls between another number of ranks: experts of a rank stay as many, shared ones where there is room.
void fit_ranks(uint32_t num_ranks, CommunicatorLimits* limits, CallShape* shape);

// Room for what the calls of `shape` ask for.
void fit_limits(const CallShape& shape, CommunicatorLimits* limits);

// Experts of a rank that holds routed ones.
uint32_t experts_per_rank(const CommunicatorLimits& limits, const CallShape& shape);

// Which of them the calls have, by name. `has_combine`: one of the calls is a combine.
std::vector<std::string> features_of(const CommunicatorLimits& limits, const CallShape& shape, bool has_combine);

// All names, those of enumerations as settings spell them.
constexpr const char* kMaskNames[] = {"none", "tokens", "pairs"};
constexpr const char* kCopiesNames[] = {"rank", "expert"};
constexpr const char* kQuantNames[] = {"none",          "static-int8",   "pertoken-int8",
                                       "pertoken-e4m3", "pertoken-e5m2", "pergroup-e4m3",
                                       "pergroup-e5m2", "mx-e4m3",       "mx-e5m2"};
constexpr const char* kScalesNames[] = {"none", "scalar", "row", "expert", "fp32", "e8m0"};
static_assert(sizeof(kQuantNames) / sizeof(kQuantNames[0]) == static_cast<uint32_t>(Quant::kCount));
static_assert(sizeof(kScalesNames) / sizeof(kScalesNames[0]) == static_cast<uint32_t>(ScalesKind::kCount));

// Of x: bf16, fp16, e4m3, e5m2.
const char* element_name(Dtype dtype);

std::string describe_features(const CallShape& shape);

}  // namespace ascend_deepep::simulator
