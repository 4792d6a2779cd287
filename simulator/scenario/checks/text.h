// SPDX-License-Identifier: Apache-2.0
// How checkers say whose a finding is. Layer: simulator.
#pragma once

#include <string>

namespace ascend_deepep::simulator {

inline std::string of_rank(uint32_t rank, const std::string& text) {
    return "rank " + std::to_string(rank) + ": " + text;
}

}  // namespace ascend_deepep::simulator
