// SPDX-License-Identifier: Apache-2.0
// Who decides which core of a launch goes on, where that is not the launch itself by round robin.
// Layer: twin/runtime; the simulator implements it. One scheduler serves the launches of many ranks at a time.
#pragma once

#include "twin/runtime/core_pool.h"

namespace ascend_deepep::twin {

class Scheduler {
  public:
    virtual ~Scheduler() = default;

    // Where the cores of the next launch of the calling rank come from.
    virtual CorePool& pool() = 0;
    // Starts the cores of a launch, which are prepared. Returns when all have returned or one ended with an error.
    virtual void run(LaunchState& state) = 0;
    // A core that polls gives way.
    virtual void poll(Core& core) = 0;
    // The core has returned, or state.error holds why not. Does not come back.
    virtual void leave(Core& core) = 0;
    // The context that switches to cores.
    virtual Fiber& context() = 0;
};

}  // namespace ascend_deepep::twin
