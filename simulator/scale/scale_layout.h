// SPDX-License-Identifier: Apache-2.0
// What op_host makes of a communicator's limits: memory, roles and the numbers of the tiling that ranks change. Any
// limits that op_host takes, so ranks that no world here has. Layer: simulator.
#pragma once

#include "op_host/roles.h"

namespace ascend_deepep::simulator {

struct ScaleLayout {
    WindowLayout window;
    WorkspaceLayout workspace;
    op_host::DispatchRoles dispatch_roles;  // of a call of the largest size, with one queue a peer
    op_host::CombineRoles combine_roles;
    uint32_t local_experts = 0;
    uint32_t copy_bytes = 0;   // of a token copy with plain 16-bit elements, whole blocks
    uint32_t row_bytes = 0;    // of a row of combine
    uint32_t route_width = 0;  // threads of the route role, for a call of the largest size
};

// Throws std::invalid_argument, one line, for limits that op_host refuses.
ScaleLayout scale_layout(const CommunicatorLimits& limits, uint32_t num_cores, CombineEngine engine);

}  // namespace ascend_deepep::simulator
