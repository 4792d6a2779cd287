// SPDX-License-Identifier: Apache-2.0
//
// How much a call is going to move, and where in the own window, for the twin's fabric. Layer: framework.
#ifndef ASCEND_DEEPEP_FRAMEWORK_OPERATION_SIZE_H
#define ASCEND_DEEPEP_FRAMEWORK_OPERATION_SIZE_H

#include "contract/tiling_data.h"
#include "twin/fabric/fabric.h"

namespace ascend_deepep {

// Peers are taken to have as many tokens as this rank. A refused call moves nothing.
twin::OperationSize operation_size(const DispatchTiling& tiling);
twin::OperationSize operation_size(const CombineTiling& tiling);

}  // namespace ascend_deepep

#endif  // ASCEND_DEEPEP_FRAMEWORK_OPERATION_SIZE_H
