// SPDX-License-Identifier: Apache-2.0
// Checker "aborts", the part that knows the fault: which peers a failed rank must have told, and who had been told and
// did not look. The link that a fault cuts is excused, and a core that stood still. Layer: simulator. What a cell must
// hold is in twin/sim/checks/aborts.h.
#pragma once

#include "simulator/scenario/scenario.h"

namespace ascend_deepep::simulator {

// Each returns what is wrong, or nothing. `start_ns`: when the call of `rank` began.
std::string untold_fault(const Channel& channel, const sim::World& world, uint32_t rank);
std::string unheard_fault(const Channel& channel, const sim::World& world, uint32_t rank, uint64_t start_ns);

}  // namespace ascend_deepep::simulator
