// SPDX-License-Identifier: Apache-2.0
//
// The targets of this process by name, and the factory of the one that is always there. Layer: framework.
#ifndef ASCEND_DEEPEP_FRAMEWORK_RUNTIME_TARGETS_H
#define ASCEND_DEEPEP_FRAMEWORK_RUNTIME_TARGETS_H

#include "framework/runtime/communicator.h"

namespace ascend_deepep {

constexpr const char* kTwinTarget = "twin";

// Collective; options.target is "twin".
std::shared_ptr<Communicator> create_twin(const CommunicatorOptions& options, const AllGather& all_gather);

}  // namespace ascend_deepep

#endif  // ASCEND_DEEPEP_FRAMEWORK_RUNTIME_TARGETS_H
