// SPDX-License-Identifier: Apache-2.0
// Names of places in a rank's memory, for timelines. Layer: simulator.
#pragma once

#include <string>

#include "twin/sim/world.h"

namespace ascend_deepep::simulator {

// `offset` as the simulator counts lines of one communicator: in the window, or from sim::kMemoryLine on in the memory
// beside it.
std::string place_name(const sim::CommunicatorConfig& config, uint64_t offset);
// The same by the number that a line has in the world.
std::string line_name(const sim::World& world, uint64_t line);

}  // namespace ascend_deepep::simulator
