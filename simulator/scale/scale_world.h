// SPDX-License-Identifier: Apache-2.0
// Large worlds without faults, perhaps with a part that is slow: the control plane real, payloads short, cores beside
// each other in virtual time, and what they did counted. Layer: simulator. docs/scale.md says what the figures mean.
#pragma once

#include <string>
#include <vector>

#include "op_host/roles.h"
#include "simulator/scenario/runner.h"
#include "twin/sim/costs.h"
#include "twin/sim/meter.h"

namespace ascend_deepep::simulator {

struct ScaleOptions {
    uint32_t num_ranks = 16;
    uint32_t num_cores = 8;
    uint32_t num_tokens = 8;  // of each rank
    uint32_t hidden = kMinHidden;
    uint32_t num_topk = 8;
    uint32_t num_experts = 256;
    CombineEngine engine = CombineEngine::kMte;
    uint32_t num_rounds = 2;  // a round is a dispatch and its combine
    sim::Costs costs;
    Routing routing = Routing::kUniform;
    uint64_t seed = 1;       // of the inputs
    bool has_calls = false;  // `calls` of the result: the calls have performance_info
    sim::Handicap handicap;
    sim::Timeline* timeline = nullptr;  // where the run is recorded; null: nowhere
};

struct ScaleResult {
    SeedResult run;  // its findings: none where every call was exact
    sim::Meter meter;
    op_host::DispatchRoles dispatch_roles;
    op_host::CombineRoles combine_roles;
    CommunicatorLimits limits;
    std::vector<uint64_t> remote_copies;  // by rank: token copies of all its dispatches for other ranks, from the ids
};

// Throws std::invalid_argument, one line, for a world that cannot be.
ScaleResult run_scale(const ScaleOptions& options, const twin::KernelTable& kernels);

}  // namespace ascend_deepep::simulator
