// SPDX-License-Identifier: Apache-2.0
//
// Answers an operator package from the registry of communicators. Layer: framework. No exception may pass a C function.
#include "framework/runtime/package_api.h"

#include <exception>
#include <type_traits>

#include "framework/runtime/communicator.h"

using namespace ascend_deepep;

static_assert(std::is_same_v<decltype(&ascend_deepep_package_machine), op_host::PackageMachineFunction>,
              "the package calls it by this type");

int ascend_deepep_package_machine(const char* group_ep, const char* target, CommunicatorLimits* limits,
                                  op_host::Machine* machine, CombineEngine* engine) {
    try {
        const std::shared_ptr<Communicator> communicator = find_communicator(group_ep);
        if (communicator->target() != target) return op_host::kMachineOther;
        const op_host::Machine found = communicator->machine();
        if (found.window_table == 0 || !communicator->failure().ok()) return op_host::kMachineBroken;
        *limits = communicator->options().limits;
        *machine = found;
        *engine = communicator->options().combine_engine;
        return op_host::kMachineFound;
    } catch (const CommunicatorError&) {
        return op_host::kMachineUnknown;
    } catch (const std::exception&) {  // such as one of torch's: its communicator cannot be asked
        return op_host::kMachineBroken;
    }
}
