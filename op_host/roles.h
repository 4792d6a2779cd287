// SPDX-License-Identifier: Apache-2.0
//
// Which cores play which role: ranges that are disjoint, not empty and cover all cores. Layer: op_host.
// docs/protocol.md, "Roles". The split depends on the communicator only, so it is the same for all its operations.
#ifndef ASCEND_DEEPEP_OP_HOST_ROLES_H
#define ASCEND_DEEPEP_OP_HOST_ROLES_H

#include "contract/tiling_data.h"

namespace ascend_deepep::op_host {

// In core order: core 0 is the first stage core and makes the routing table before it stages.
struct DispatchRoles {
    CoreRange stage, wqe_builder, doorbell, cumsum;
};

// In core order: control is core 0. With MTE the doorbell range is empty.
struct CombineRoles {
    CoreRange control, doorbell, send;
};

uint32_t min_cores();
DispatchRoles dispatch_roles(uint32_t num_cores, const CommunicatorLimits& limits);
CombineRoles combine_roles(uint32_t num_cores, CombineEngine engine);

}  // namespace ascend_deepep::op_host

#endif  // ASCEND_DEEPEP_OP_HOST_ROLES_H
