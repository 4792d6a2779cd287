// SPDX-License-Identifier: Apache-2.0
// Layer: simulator.
#include "simulator/scale/scale_layout.h"

#include <stdexcept>

#include "op_host/check.h"
#include "op_host/tiling.h"

namespace ascend_deepep::simulator {

namespace {

// Of the largest call of plain 16-bit rows, a copy of a token for each rank.
op_host::RoleLoad largest_load(const CommunicatorLimits& limits, uint32_t token_bytes) {
    op_host::RoleLoad load;
    load.num_ranks = limits.num_ranks;
    load.num_tokens = limits.max_tokens;
    load.num_columns = num_columns(limits);
    load.local_experts = local_experts(limits);
    load.token_bytes = token_bytes;
    return load;
}

uint32_t plain_copy_bytes(const CommunicatorLimits& limits) {
    return token_layout(limits.hidden * kElementBytes, 0, num_columns(limits), 0).slot_bytes;
}

}  // namespace

ScaleLayout scale_layout(const CommunicatorLimits& limits, uint32_t num_cores, CombineEngine engine) {
    const op_host::Status status = op_host::check_limits(limits, num_cores, 0);
    if (!status.ok()) throw std::invalid_argument(status.message);
    return {window_layout(limits),
            workspace_layout(limits),
            op_host::dispatch_roles(num_cores, largest_load(limits, plain_copy_bytes(limits)), {}),
            op_host::combine_roles(num_cores, largest_load(limits, row_slot_bytes(limits.hidden)), engine),
            local_experts(limits),
            plain_copy_bytes(limits),
            row_slot_bytes(limits.hidden),
            op_host::route_width(limits.max_tokens, limits.num_experts, limits.num_ranks)};
}

}  // namespace ascend_deepep::simulator
