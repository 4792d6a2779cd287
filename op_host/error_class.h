// SPDX-License-Identifier: Apache-2.0
//
// The kind of error that a bad status is for the caller. Layer: op_host.
#ifndef ASCEND_DEEPEP_OP_HOST_ERROR_CLASS_H
#define ASCEND_DEEPEP_OP_HOST_ERROR_CLASS_H

#include "op_host/status.h"

namespace ascend_deepep::op_host {

// Name of a class of ascend_deepep.errors, or the builtin NotImplementedError. `status` is bad, and its `record.rank`
// is the own rank, refusals included: a refusal whose `rank` is another one is a peer's and becomes Mismatch.
const char* error_class(const Status& status);

}  // namespace ascend_deepep::op_host

#endif  // ASCEND_DEEPEP_OP_HOST_ERROR_CLASS_H
