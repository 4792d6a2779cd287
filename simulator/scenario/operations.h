// SPDX-License-Identifier: Apache-2.0
// Operations of a scenario as one word, such as "D,C,D:bad-ids@1,C1:other-call@0". Layer: simulator.
// D dispatches, C combines what the last good dispatch gave, C2 what the second one gave. An act comes behind a colon
// with the rank that acts; without one the operation is good.
#pragma once

#include <string>
#include <vector>

#include "simulator/scenario/scenario.h"

namespace ascend_deepep::simulator {

std::string operations_text(const std::vector<Operation>& operations);
// Throws std::invalid_argument with one line where the text is none of a scenario.
std::vector<Operation> operations_from(const std::string& text);

}  // namespace ascend_deepep::simulator
