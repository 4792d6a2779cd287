// SPDX-License-Identifier: Apache-2.0
// Stacks and UB arenas of cores, kept between launches: first touch of memory is what costs.
// Layer: twin/runtime, for its own sources and for schedulers.
#pragma once

#include <memory>
#include <vector>

#include "twin/runtime/core.h"

namespace ascend_deepep::twin {

class CorePool {
  public:
    CorePool() = default;
    ~CorePool();
    CorePool(const CorePool&) = delete;
    CorePool& operator=(const CorePool&) = delete;

    Core& core(uint32_t index);

  private:
    std::vector<std::unique_ptr<Core>> slots_;
    std::vector<std::unique_ptr<DeferredPipes>> pipes_;
};

}  // namespace ascend_deepep::twin
