// SPDX-License-Identifier: Apache-2.0
//
// Stand-in (tools/cann_headers/README.md): dtypes, formats and results, those that the operator package uses.
#ifndef ASCEND_DEEPEP_CANN_HEADERS_GRAPH_TYPES_H
#define ASCEND_DEEPEP_CANN_HEADERS_GRAPH_TYPES_H

#include <cstdint>

namespace ge {

enum DataType {
    DT_FLOAT = 0,
    DT_FLOAT16 = 1,
    DT_INT8 = 2,
    DT_INT32 = 3,
    DT_UINT8 = 4,
    DT_INT16 = 6,
    DT_INT64 = 9,
    DT_DOUBLE = 11,
    DT_BOOL = 12,
    DT_BF16 = 27,
    DT_UNDEFINED = 28,
    DT_FLOAT8_E5M2 = 35,
    DT_FLOAT8_E4M3FN = 36,
    DT_FLOAT8_E8M0 = 37,
};

enum Format { FORMAT_ND = 2 };

using graphStatus = uint32_t;
constexpr graphStatus GRAPH_FAILED = 0xFFFFFFFF;
constexpr graphStatus GRAPH_SUCCESS = 0;

}  // namespace ge

#endif  // ASCEND_DEEPEP_CANN_HEADERS_GRAPH_TYPES_H
