// SPDX-License-Identifier: Apache-2.0
// Giving way while waiting. Layer: twin/runtime; kernels reach it through op_kernel/port/port.h only.
#pragma once

#include <cstdint>

namespace ascend_deepep::twin {

// Switches to the next core of the launch. Returns when the round robin comes back. No effect outside a launch.
void poll_yield();
// The same between two looks of a wait. `stage` and `peer`: what it is for, in the kernel's numbers; `cycle`: when it
// has looked. Only those who watch the launch take notice.
void poll_wait(uint32_t stage, uint32_t peer, uint64_t cycle);

}  // namespace ascend_deepep::twin
