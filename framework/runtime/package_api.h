// SPDX-License-Identifier: Apache-2.0
//
// What the operator package asks of this library: the communicator behind a group_ep. Layer: framework.
// A C function that the package finds with dlsym, since a package is built and installed without this library. It may
// be compiled with the other C++ ABI of libstdc++, so nothing but plain structures crosses over.
#ifndef ASCEND_DEEPEP_FRAMEWORK_RUNTIME_PACKAGE_API_H
#define ASCEND_DEEPEP_FRAMEWORK_RUNTIME_PACKAGE_API_H

#include "op_host/package_machine.h"

extern "C" __attribute__((visibility("default"))) int ascend_deepep_package_machine(
    const char* group_ep, const char* target, ascend_deepep::CommunicatorLimits* limits,
    ascend_deepep::op_host::Machine* machine, ascend_deepep::CombineEngine* engine);

#endif  // ASCEND_DEEPEP_FRAMEWORK_RUNTIME_PACKAGE_API_H
