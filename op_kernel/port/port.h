// SPDX-License-Identifier: Apache-2.0
// The few names that differ by target, and the only target condition in the kernels.
// Layer: op_kernel/port. The twin's build defines ASCEND_DEEPEP_TWIN_POLICY; without it this is the device.
#pragma once

#include "kernel_operator.h"

#if defined(ASCEND_DEEPEP_TWIN_POLICY)
#include "twin/runtime/poll.h"
#endif

// In front of a short loop over the elements of one load: g++ turns it into vectors if it has not unrolled it before.
// The device's threads are the vector there, and clang needs no hint.
#if defined(ASCEND_DEEPEP_TWIN_POLICY) && !defined(__clang__)
#define ASCEND_DEEPEP_KEEP_LOOP _Pragma("GCC unroll 1")
#else
#define ASCEND_DEEPEP_KEEP_LOOP
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
