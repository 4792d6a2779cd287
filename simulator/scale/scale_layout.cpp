// SPDX-License-Identifier: Apache-2.0
// Layer: simulator.
#include "simulator/scale/scale_layout.h"

#include <stdexcept>

#include "op_host/check.h"
#include "op_host/tiling.h"

namespace ascend_deepep::simulator {

ScaleLayout scale_layout(const CommunicatorLimits& limits, uint32_t num_cores, CombineEngine engine) {
    const op_host::Status status = op_host::check_limits(limits, num_cores, 0);
    if (!status.ok()) throw std::invalid_argument(status.message);
    return {window_layout(limits),
            workspace_layout(limits),
            op_host::dispatch_roles(num_cores, limits),
            op_host::combine_roles(num_cores, engine),
            local_experts(limits),
            op_host::route_width(limits.max_tokens, limits.num_experts, limits.num_ranks)};
}

}  // namespace ascend_deepep::simulator
