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
// poll costs nothing but the load; the twin's cores share one thread and must give way. `stage` and `peer` say what the
// wait is for and `cycle` when it has looked, to whoever watches the twin.
__aicore__ inline void poll_pause(uint32_t stage = 0, uint32_t peer = 0, uint64_t cycle = 0) {
#if defined(ASCEND_DEEPEP_TWIN_POLICY)
    twin::poll_wait(stage, peer, cycle);
#else
    static_cast<void>(stage);
    static_cast<void>(peer);
    static_cast<void>(cycle);
#endif
}

}  // namespace ascend_deepep::port
