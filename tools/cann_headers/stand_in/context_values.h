// SPDX-License-Identifier: Apache-2.0
//
// The values behind a context of the stand-in: a test fills the call in and reads the answer. Nothing of CANN.
#ifndef ASCEND_DEEPEP_CANN_HEADERS_CONTEXT_VALUES_H
#define ASCEND_DEEPEP_CANN_HEADERS_CONTEXT_VALUES_H

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "exe_graph/runtime/shape.h"
#include "graph/types.h"

namespace stand_in {

struct Tensor {
    gert::StorageShape shape;
    ge::DataType dtype = ge::DT_UNDEFINED;
};

struct ContextValues {
    std::string node = "node";
    std::vector<std::optional<Tensor>> inputs;  // by place in the definition
    std::vector<std::variant<int64_t, std::string>> attributes;
    std::vector<Tensor> outputs;

    // What a tiling function answers.
    std::vector<uint8_t> tiling_data;  // its size is the capacity
    size_t tiling_bytes = 0;
    uint64_t tiling_key = UINT64_MAX;
    uint32_t block_dim = 0;
    uint32_t local_memory_bytes = 0;
    uint32_t schedule_mode = 0;
    std::vector<size_t> workspaces;
};

}  // namespace stand_in

#endif  // ASCEND_DEEPEP_CANN_HEADERS_CONTEXT_VALUES_H
