// SPDX-License-Identifier: Apache-2.0
// The worlds that are small enough to look at all their runs. Layer: simulator.
#pragma once

#include <string>

#include "simulator/scenario/scenario.h"

namespace ascend_deepep::simulator {

// Throws std::invalid_argument for a name or number of tokens that there is not.
Scenario tiny_world(const std::string& name, uint32_t num_tokens);

}  // namespace ascend_deepep::simulator
