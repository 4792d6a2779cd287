// SPDX-License-Identifier: Apache-2.0
//
// Which cores play which role: ranges that are disjoint, not empty and cover all cores. Layer: op_host.
// docs/protocol.md, "Roles". A model of what each role has to do chooses the split of every call, or the caller does
// (docs/decisions/0014-role-split-by-a-model.md). Ranks may differ, and so may the calls of a communicator: every flag
// of the control page carries its operation's tag, and kernels take the ranges from the tiling data.
#ifndef ASCEND_DEEPEP_OP_HOST_ROLES_H
#define ASCEND_DEEPEP_OP_HOST_ROLES_H

#include <string>

#include "contract/tiling_data.h"
#include "op_host/status.h"

namespace ascend_deepep::op_host {

// In core order. The first cumsum core makes the routing table, which its messages wait for.
struct DispatchRoles {
    CoreRange stage, wqe_builder, doorbell, cumsum;
};

// In core order: control is core 0. With MTE the doorbell range is empty.
struct CombineRoles {
    CoreRange control, doorbell, send;
};

// Cores of each role of dispatch as the caller wants them; 0: the model chooses.
struct RoleCounts {
    uint32_t stage = 0, wqe_builder = 0, doorbell = 0, cumsum = 0;
};

// What decides how much a role has to do.
struct RoleLoad {
    uint32_t num_ranks = 1;
    uint32_t queues_per_peer = 1;
    uint32_t num_tokens = 0;
    uint32_t num_columns = 1;  // experts that a token goes to
    uint32_t local_experts = 1;
    uint32_t token_bytes = 0;    // of a copy (dispatch) or a row (combine) on the wire
    bool is_per_expert = false;  // a copy for each expert, staged apart
};

uint32_t min_cores();
DispatchRoles dispatch_roles(uint32_t num_cores, const RoleLoad& load, const RoleCounts& wanted);
CombineRoles combine_roles(uint32_t num_cores, const RoleLoad& load, CombineEngine engine);

// The model's estimate of the role of dispatch that takes longest, in cycles.
double longest_role(const DispatchRoles& roles, const RoleLoad& load);

// "stage=8,wqe_builder=2": roles in any order, those not named are left to the model; empty: all are. A bad status
// names the word.
Status parse_roles(const std::string& text, RoleCounts* counts);
// Each role at least one core, no core without work that only it could have, and together at most num_cores; exactly
// those when all four are given.
Status check_roles(const RoleCounts& counts, uint32_t num_cores, uint32_t num_ranks, uint32_t queues_per_peer);

}  // namespace ascend_deepep::op_host

#endif  // ASCEND_DEEPEP_OP_HOST_ROLES_H
