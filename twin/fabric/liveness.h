// SPDX-License-Identifier: Apache-2.0
// Whether the processes of the peers are still there. Layer: twin/fabric.
// A pidfd names a process for good: a number that the system gives to a new process does not mislead it.
#pragma once

#include <cstdint>
#include <vector>

#include "twin/fabric/system_error.h"

namespace ascend_deepep::twin {

class Liveness {
  public:
    // pids by rank. Called while all ranks are known to be in the rendezvous.
    explicit Liveness(const std::vector<int32_t>& pids);

    // Ranks whose process has ended, ascending. One system call.
    std::vector<uint32_t> gone() const;

  private:
    std::vector<FileDescriptor> pidfds_;
};

}  // namespace ascend_deepep::twin
