// SPDX-License-Identifier: Apache-2.0
// Which features go together. Layer: simulator. The operators refuse the others; a world of such calls is refused when
// it is made.
#pragma once

#include "simulator/scenario/draw_features.h"

namespace ascend_deepep::simulator {

// What goes with sums by rank.
bool goes_by_rank(const Features& f, bool has_scales);

bool has_legal_scales(const Features& features);
ScalesKind first_legal_scales(const Features& features);
// Of scales that travel with rows of the world's calls: with them a row is no wider than one of two-byte elements.
uint32_t most_scale_columns(const CallShape& shape);

// Throws std::invalid_argument, one line, for calls of the first communicator that are illegal.
void check_features(const Scenario& scenario);

}  // namespace ascend_deepep::simulator
