// SPDX-License-Identifier: Apache-2.0
// What one rank gives to a dispatch or combine, and what it gets back. Layer: simulator.
#pragma once

#include <cstdint>
#include <vector>

#include "contract/tiling_data.h"

namespace ascend_deepep::simulator {

// The routing and payload of one rank for one round.
struct Batch {
    uint32_t num_tokens = 0;
    uint32_t max_tokens = 0;  // M of the call
    uint32_t hidden = 0;
    uint32_t num_topk = 0;
    Dtype dtype = Dtype::kBf16;
    std::vector<int32_t> expert_ids;  // [num_tokens, num_topk]
    std::vector<uint16_t> x;          // [num_tokens, hidden]
    std::vector<float> scales;        // [num_tokens, num_topk], or empty
    uint32_t shift = 0;               // elements that every input tensor begins behind an aligned address
};

struct DispatchResult {
    OperationOutcome outcome{};
    ErrorRecord record{};
    uint32_t capacity_rows = 0;
    std::vector<uint16_t> expand_x;
    std::vector<int32_t> assist_info;
    std::vector<int32_t> ep_recv_counts;
    std::vector<int64_t> expert_token_nums;
};

struct CombineResult {
    OperationOutcome outcome{};
    ErrorRecord record{};
    std::vector<uint16_t> x;
};

}  // namespace ascend_deepep::simulator
