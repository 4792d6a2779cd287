// SPDX-License-Identifier: Apache-2.0
//
// Joins values to one string. Layer: op_host.
#ifndef ASCEND_DEEPEP_OP_HOST_TEXT_H
#define ASCEND_DEEPEP_OP_HOST_TEXT_H

#include <sstream>
#include <string>

namespace ascend_deepep::op_host {

template <typename... Parts>
std::string text(const Parts&... parts) {
    std::ostringstream stream;
    (stream << ... << parts);
    return stream.str();
}

}  // namespace ascend_deepep::op_host

#endif  // ASCEND_DEEPEP_OP_HOST_TEXT_H
