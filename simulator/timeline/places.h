// SPDX-License-Identifier: Apache-2.0
// Names of places in a rank's memory, for timelines. Layer: simulator.
#pragma once

#include <string>

#include "twin/sim/world.h"

namespace ascend_deepep::simulator {

// `offset` as the simulator counts lines: in the window, or from sim::kMemoryLine on in the memory beside it.
std::string place_name(const sim::WorldConfig& config, uint64_t offset);

}  // namespace ascend_deepep::simulator
