// SPDX-License-Identifier: Apache-2.0
// One launch in progress: its ring of live cores and what the scheduler round has seen so far.
// Layer: twin/runtime, for its own sources and for schedulers.
#pragma once

#include <exception>

#include "twin/runtime/core.h"
#include "twin/runtime/launch.h"
#include "twin/runtime/scheduler.h"

namespace ascend_deepep::twin {

struct LaunchState {
    LaunchConfig config;
    void (*entry)(uint8_t*);
    uint8_t* tiling;
    GmHooks* hooks;
    Core* last;             // the core whose turn ends a round
    bool round_progressed;  // some core of this round did more than poll
    Fiber main;             // the caller of launch()
    std::exception_ptr error;
    Scheduler* scheduler;  // null: round robin
    Capture* capture;      // of a round robin; null: nobody watches
};

}  // namespace ascend_deepep::twin
