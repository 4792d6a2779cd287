// SPDX-License-Identifier: Apache-2.0
// The simulator's oracle for Python, which has another one to compare it with. Layer: simulator.
#pragma once

#include <pybind11/pybind11.h>

namespace ascend_deepep::simulator {

// Adds `quantise`, `combine_int8` and `oracle`.
void bind_oracle(pybind11::module_& module);

}  // namespace ascend_deepep::simulator
