// SPDX-License-Identifier: Apache-2.0
// Reads back the __launch_bounds__ of a SIMT function. Layer: twin/runtime.
#pragma once

#include <cstdint>

namespace ascend_deepep::twin {

constexpr uint32_t kDefaultLaunchBound = 1024;  // of a SIMT function that names none

uint32_t launch_bound(const void* function);

}  // namespace ascend_deepep::twin
