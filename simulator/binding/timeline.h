// SPDX-License-Identifier: Apache-2.0
// A recorded run as lists of tuples, for Python: the same as a communicator's trace, by rank, in virtual time.
// Layer: simulator. Their fields are in python/ascend_deepep/_runtime.pyi.
#pragma once

#include <pybind11/pybind11.h>

#include "contract/window_layout.h"
#include "twin/sim/timeline.h"

namespace ascend_deepep::simulator {

// Of a world with one communicator of these limits.
pybind11::list timeline_list(const sim::Timeline& timeline, const CommunicatorLimits& limits, uint32_t queues_per_peer);

}  // namespace ascend_deepep::simulator
