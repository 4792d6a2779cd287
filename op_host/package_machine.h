// SPDX-License-Identifier: Apache-2.0
//
// The function by which an operator package finds a communicator: its name, type and results. Layer: op_host.
// framework/runtime/package_api.cpp defines it, op_host/cann/ calls it; neither knows the other.
#ifndef ASCEND_DEEPEP_OP_HOST_PACKAGE_MACHINE_H
#define ASCEND_DEEPEP_OP_HOST_PACKAGE_MACHINE_H

#include "contract/tiling_data.h"
#include "op_host/tiling.h"

namespace ascend_deepep::op_host {

enum PackageMachineResult : int {
    kMachineFound = 0,
    kMachineUnknown = 1,  // no communicator of that name in this process
    kMachineBroken = 2,   // closed, or broken by an earlier failure
    kMachineOther = 3,    // of another target: its addresses mean nothing to the caller's kernels
};

// Fills what a tiling for `target` needs of communicator `group_ep`; writes nothing unless it returns kMachineFound.
using PackageMachineFunction = int (*)(const char* group_ep, const char* target, CommunicatorLimits* limits,
                                       Machine* machine, CombineEngine* engine);

constexpr const char* kPackageMachineLibrary = "libascend_deepep_runtime.so";
constexpr const char* kPackageMachineSymbol = "ascend_deepep_package_machine";

}  // namespace ascend_deepep::op_host

#endif  // ASCEND_DEEPEP_OP_HOST_PACKAGE_MACHINE_H
