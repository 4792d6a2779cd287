// SPDX-License-Identifier: Apache-2.0
//
// The calls of the largest size that a communicator allows, for those who ask what they take. Layer: op_host.
#ifndef ASCEND_DEEPEP_OP_HOST_LARGEST_CALLS_H
#define ASCEND_DEEPEP_OP_HOST_LARGEST_CALLS_H

#include "contract/window_layout.h"
#include "op_host/calls.h"

namespace ascend_deepep::op_host {

// What a call says beside the communicator's limits.
struct CallChoices {
    uint32_t rank = 0;
    uint32_t shared_expert_rank_num = 0;
    int64_t quant_mode = 0;
    Dtype x_dtype = Dtype::kBf16;
    std::optional<Dtype> y_dtype;  // of expand_x; none: what the mode makes of itself
    int64_t comm_quant_mode = 0;
};

// Every rank with as many tokens, all of them with weights. Copies per expert where there is room for them. Scales
// where the mode needs some: static one factor for all, of float8 passed on a float32 per kScaleGroup elements.
DispatchCall largest_dispatch(const CommunicatorLimits& limits, const CallChoices& choices);

// The combine behind a dispatch that had these outputs.
CombineCall largest_combine(const CommunicatorLimits& limits, const CallChoices& choices,
                            const DispatchShapes& dispatched);

}  // namespace ascend_deepep::op_host

#endif  // ASCEND_DEEPEP_OP_HOST_LARGEST_CALLS_H
