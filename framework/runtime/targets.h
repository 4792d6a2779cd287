// SPDX-License-Identifier: Apache-2.0
//
// The factory of the target that every process has. Layer: framework.
#ifndef ASCEND_DEEPEP_FRAMEWORK_RUNTIME_TARGETS_H
#define ASCEND_DEEPEP_FRAMEWORK_RUNTIME_TARGETS_H

#include "framework/runtime/communicator.h"

namespace ascend_deepep {

// Collective; options.target is op_host::kTwinTarget.
std::shared_ptr<Communicator> create_twin(const CommunicatorOptions& options, const AllGather& all_gather);

}  // namespace ascend_deepep

#endif  // ASCEND_DEEPEP_FRAMEWORK_RUNTIME_TARGETS_H
