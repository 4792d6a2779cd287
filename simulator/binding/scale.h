// SPDX-License-Identifier: Apache-2.0
// Large worlds and their layout, for Python. Layer: simulator.
#pragma once

#include <pybind11/pybind11.h>

#include "twin/runtime/kernel_table.h"

namespace ascend_deepep::simulator {

void bind_scale(pybind11::module_& module, const twin::KernelTable& (*kernels)());

}  // namespace ascend_deepep::simulator
