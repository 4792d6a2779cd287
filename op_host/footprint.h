// SPDX-License-Identifier: Apache-2.0
//
// What a configuration takes on one rank: window, workspace, UB and outputs of its largest calls. Layer: op_host.
// Nothing is computed here: the calls go through the checks, shapes and tiling that real ones go through.
#ifndef ASCEND_DEEPEP_OP_HOST_FOOTPRINT_H
#define ASCEND_DEEPEP_OP_HOST_FOOTPRINT_H

#include <optional>
#include <string>
#include <vector>

#include "contract/tiling_data.h"
#include "op_host/status.h"

namespace ascend_deepep::op_host {

// The calls of which sizes are asked: as large as the limits allow, with bf16 tokens, on rank `rank`.
struct Configuration {
    CommunicatorLimits limits{};
    uint32_t num_cores = 0;
    CombineEngine engine = CombineEngine::kMte;
    uint32_t rank = 0;
    uint32_t shared_expert_rank_num = 0;
    int64_t quant_mode = 0;
    std::optional<int64_t> y_dtype;  // number of a dtype, as callers pass it
    int64_t comm_quant_mode = 0;
};

struct Output {
    const char* name;
    uint64_t bytes;
};

struct Footprint {
    std::vector<Output> outputs;  // of dispatch in its order, then x_out of combine
    uint64_t ub_bytes = 0;        // that a launch asks for on each of its cores
    DispatchTiling dispatch{};
    CombineTiling combine{};
};

// The first fault of the limits or of one of the calls, with its text; `footprint` is filled when there is none.
Status footprint_of(const Configuration& configuration, Footprint* footprint);

}  // namespace ascend_deepep::op_host

#endif  // ASCEND_DEEPEP_OP_HOST_FOOTPRINT_H
