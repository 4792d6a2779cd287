// SPDX-License-Identifier: Apache-2.0
// Splits of a rank's cores that no model would choose. Layer: simulator.
#pragma once

#include "op_host/roles.h"

namespace ascend_deepep::simulator {

// All four roles of dispatch, legal for op_host::check_roles. The same arguments give the same split.
op_host::RoleCounts draw_roles(uint64_t seed, uint32_t num_cores, uint32_t num_ranks, uint32_t queues_per_peer);

}  // namespace ascend_deepep::simulator
