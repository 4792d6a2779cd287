// SPDX-License-Identifier: Apache-2.0
//
// What definitions of the stand-in hold, and the list that OP_ADD adds to. Nothing of CANN.
#ifndef ASCEND_DEEPEP_CANN_HEADERS_DEFINITIONS_H
#define ASCEND_DEEPEP_CANN_HEADERS_DEFINITIONS_H

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "graph/types.h"

namespace stand_in {

struct Parameter {
    std::string name;
    int option = 0;
    std::vector<ge::DataType> dtypes;
    std::vector<ge::Format> formats;
    bool is_packed = false;
};

struct Attribute {
    std::string name;
    int option = 0;
    bool is_text = false;
    std::optional<std::variant<int64_t, std::string>> value;
};

}  // namespace stand_in

#endif  // ASCEND_DEEPEP_CANN_HEADERS_DEFINITIONS_H
