// SPDX-License-Identifier: Apache-2.0
//
// Finds the runtime library of this process and asks it. Layer: op_host/cann.
// Python loads that library with local scope, so it has to be looked up by name; RTLD_NOLOAD never brings in a second
// one, whose registry of communicators would be empty.
#include "op_host/cann/machine.h"

#include <dlfcn.h>

#include "op_host/tensor_device.h"
#include "op_host/text.h"

namespace ascend_deepep::cann {
namespace {

using op_host::text;

constexpr const char* kMakeOne =
    "make one on all ranks of this group first, in this process: communicator = ascend_deepep.Communicator(group, "
    "max_tokens=..., hidden=..., num_topk=..., num_experts=...), and pass communicator.name as group_ep";

// The kernels of the package run there and nowhere else. The tests' package has kernels of the twin.
#if !defined(ASCEND_DEEPEP_PACKAGE_TARGET)
#define ASCEND_DEEPEP_PACKAGE_TARGET op_host::kNpuTarget
#endif
const char* const kTarget = ASCEND_DEEPEP_PACKAGE_TARGET;

std::string describe(int result, const std::string& group_ep) {
    if (result == op_host::kMachineUnknown) {
        return text("group_ep '", group_ep, "' names no communicator of this process: ", kMakeOne);
    }
    if (result == op_host::kMachineOther) {
        return text("communicator '", group_ep, "' does not run on target ", kTarget,
                    ", as the operator package does; set ASCEND_DEEPEP_TARGET=", kTarget, " and ", kMakeOne);
    }
    return text("communicator '", group_ep, "' is closed or broken: communicator.check() says why; ", kMakeOne);
}

}  // namespace

FoundMachine find_machine(const std::string& group_ep, const char* library) {
    FoundMachine found;
    void* handle = ::dlopen(library, RTLD_NOW | RTLD_NOLOAD);
    if (handle == nullptr) {
        found.error = text("group_ep '", group_ep, "': ", library,
                           " is not loaded in this process; import ascend_deepep, ", kMakeOne);
        return found;
    }
    const auto ask = reinterpret_cast<op_host::PackageMachineFunction>(::dlsym(handle, op_host::kPackageMachineSymbol));
    if (ask == nullptr) {
        found.error = text("group_ep '", group_ep, "': ", library, " has no ", op_host::kPackageMachineSymbol,
                           "; install an ascend_deepep and an operator package of the same release");
    } else if (const int result = ask(group_ep.c_str(), kTarget, &found.limits, &found.machine, &found.engine)) {
        found.error = describe(result, group_ep);
    }
    ::dlclose(handle);
    return found;
}

}  // namespace ascend_deepep::cann
