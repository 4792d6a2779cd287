// SPDX-License-Identifier: Apache-2.0
// The few names that differ by target, and the only target condition in the kernels.
// Layer: op_kernel/port. The twin's build defines ASCEND_DEEPEP_TWIN_POLICY; without it this is the device.
#pragma once

#include "kernel_operator.h"

#if defined(ASCEND_DEEPEP_TWIN_POLICY)
#include "twin/runtime/poll.h"
#endif

namespace ascend_deepep::port {

// Called between two looks at a word that another core or rank will write. On the device cores run in parallel and a
// poll costs nothing but the load; the twin's cores share one thread and must give way.
__aicore__ inline void poll_pause() {
#if defined(ASCEND_DEEPEP_TWIN_POLICY)
    twin::poll_yield();
#endif
}

}  // namespace ascend_deepep::port
