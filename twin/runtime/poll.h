// SPDX-License-Identifier: Apache-2.0
// Giving way while waiting. Layer: twin/runtime; kernels reach it through op_kernel/port/port.h only.
#pragma once

namespace ascend_deepep::twin {

// Switches to the next core of the launch. Returns when the round robin comes back. No effect outside a launch.
void poll_yield();

}  // namespace ascend_deepep::twin
