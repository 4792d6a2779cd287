// SPDX-License-Identifier: Apache-2.0
// The bounded search for Python. Layer: simulator.
#pragma once

#include <pybind11/pybind11.h>

#include "twin/runtime/kernel_table.h"

namespace ascend_deepep::simulator {

// Adds `search_worlds`, `search` and `replay_search`. `kernels` gives the kernels to run, or throws.
void bind_search(pybind11::module_& module, const twin::KernelTable& (*kernels)());

}  // namespace ascend_deepep::simulator
