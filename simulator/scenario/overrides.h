// SPDX-License-Identifier: Apache-2.0
// Fields of a scenario by name: as they are, and set after drawing. Layer: simulator.
// A scenario is drawn whole before a field is set, so what is not set stays what the seed says.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "simulator/scenario/scenario.h"

namespace ascend_deepep::simulator {

using Settings = std::vector<std::pair<std::string, std::string>>;  // name, value

// Every field, in the order of docs/twin.md. Setting all of them gives the same scenario.
Settings settings_of(const Scenario& scenario);

// Throws std::invalid_argument, one line, for a name or a value that does not exist.
void apply_settings(const Settings& settings, Scenario* scenario);

// Makes the fields that `settings` leaves alone fit the others; `drawn` is the scenario before they were applied.
void fit_scenario(const Settings& settings, const Scenario& drawn, Scenario* scenario);

// Throws std::invalid_argument, one line that names the limit, for a scenario that cannot be run or whose outcome would
// be a matter of luck.
void check_scenario(const Scenario& scenario);
// Of these the ranks alone.
void check_ranks(const Scenario& scenario);

}  // namespace ascend_deepep::simulator
