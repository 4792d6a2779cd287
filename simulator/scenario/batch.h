// SPDX-License-Identifier: Apache-2.0
// What one rank gives to a dispatch or combine, and what it gets back. Layer: simulator.
#pragma once

#include <cstdint>
#include <vector>

#include "contract/tiling_data.h"
#include "simulator/scenario/features.h"

namespace ascend_deepep::simulator {

// The routing and payload of one rank for one round.
struct Batch {
    uint32_t rank = 0;  // whose it is
    uint32_t num_ranks = 0;
    uint32_t num_tokens = 0;
    uint32_t max_tokens = 0;  // M of the call
    uint32_t hidden = 0;
    uint32_t num_topk = 0;
    uint32_t num_experts = 0;  // of the call; 0: as many as the communicator is made for
    Features features;
    std::vector<int32_t> expert_ids;  // [num_tokens, num_topk]
    std::vector<uint16_t> x;          // [num_tokens, hidden], elements of two bytes
    std::vector<uint8_t> x_bytes;     // the same, elements of one byte; one of the two is empty
    std::vector<float> scales;        // combine's expert_scales: [num_tokens, num_topk], or empty
    bool has_scales = false;          // combine has them on all ranks, those without tokens too
    uint32_t shift = 0;               // elements that every input tensor begins behind an aligned address
    // Where `features` has them, else empty.
    std::vector<uint8_t> mask;              // [num_tokens] or [num_tokens, num_topk]
    std::vector<float> weights;             // dispatch's expert_scales: [num_tokens, num_topk]
    std::vector<float> factors;             // dispatch's scales, of a mode that multiplies with them
    std::vector<uint8_t> travelling;        // dispatch's scales, of rows that are quantised: [num_tokens, columns]
    std::vector<uint16_t> shared_x;         // [num_tokens, hidden]
    std::vector<int64_t> performance_info;  // [num_ranks], before the call
};

struct DispatchResult {
    OperationOutcome outcome{};
    ErrorRecord record{};
    uint32_t capacity_rows = 0;
    std::vector<uint16_t> expand_x;     // elements of two bytes
    std::vector<uint8_t> expand_bytes;  // elements of one byte; one of the two is empty
    std::vector<uint8_t> scales;        // dynamic_scales
    std::vector<float> expand_scales;   // [capacity_rows]
    std::vector<int32_t> assist_info;
    std::vector<int32_t> ep_recv_counts;
    std::vector<int64_t> expert_token_nums;
    std::vector<int64_t> performance_info;  // as the batch's, after the call
};

struct CombineResult {
    OperationOutcome outcome{};
    ErrorRecord record{};
    std::vector<uint16_t> x;
    std::vector<int64_t> performance_info;
};

}  // namespace ascend_deepep::simulator
