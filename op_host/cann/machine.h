// SPDX-License-Identifier: Apache-2.0
//
// The communicator behind a group_ep, as a tiling needs it. Layer: op_host/cann.
#ifndef ASCEND_DEEPEP_OP_HOST_CANN_MACHINE_H
#define ASCEND_DEEPEP_OP_HOST_CANN_MACHINE_H

#include <string>

#include "op_host/package_machine.h"

namespace ascend_deepep::cann {

struct FoundMachine {
    CommunicatorLimits limits{};
    op_host::Machine machine{};
    CombineEngine engine = CombineEngine::kMte;
    std::string error;  // empty: found. Otherwise one line that says what to do
};

// Asks `library`, which the process must have loaded already: `import ascend_deepep` does.
FoundMachine find_machine(const std::string& group_ep, const char* library = op_host::kPackageMachineLibrary);

}  // namespace ascend_deepep::cann

#endif  // ASCEND_DEEPEP_OP_HOST_CANN_MACHINE_H
