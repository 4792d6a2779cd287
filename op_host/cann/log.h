// SPDX-License-Identifier: Apache-2.0
//
// Errors of the operator package: CANN's log where there is one, else standard error. Layer: op_host/cann.
#ifndef ASCEND_DEEPEP_OP_HOST_CANN_LOG_H
#define ASCEND_DEEPEP_OP_HOST_CANN_LOG_H

#include <string>

namespace ascend_deepep::cann {

void log_error(const char* node, const std::string& message);

}  // namespace ascend_deepep::cann

#endif  // ASCEND_DEEPEP_OP_HOST_CANN_LOG_H
