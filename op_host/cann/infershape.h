// SPDX-License-Identifier: Apache-2.0
//
// Shared parts of shape and dtype inference. Layer: op_host/cann.
#ifndef ASCEND_DEEPEP_OP_HOST_CANN_INFERSHAPE_H
#define ASCEND_DEEPEP_OP_HOST_CANN_INFERSHAPE_H

#include <algorithm>
#include <initializer_list>

#include "op_host/cann/context.h"
#include "op_host/geometry.h"

namespace ascend_deepep::cann {

constexpr int64_t kUnknownExtent = -1;

// While a graph is compiled an extent may be unknown (-1), or all of a shape (one extent of -2).
inline bool is_known(const op_host::TensorInfo& tensor) {
    return std::all_of(tensor.shape.begin(), tensor.shape.end(), [](int64_t size) { return size >= 0; });
}

inline int64_t known_extent(const op_host::TensorInfo& tensor, size_t axis) {
    return axis < tensor.shape.size() ? std::max(tensor.shape[axis], kUnknownExtent) : kUnknownExtent;
}

inline void set_shape(gert::InferShapeContext& context, size_t index, std::initializer_list<int64_t> sizes) {
    gert::Shape* shape = context.GetOutputShape(index);
    if (shape == nullptr) return;
    shape->SetDimNum(0);
    for (const int64_t size : sizes)
        shape->AppendDim(size);
}

// Outputs have the dtypes of the column that the first input, the tokens, is in.
template <typename Arguments>
ge::graphStatus infer_dtypes(gert::InferDataTypeContext* context) {
    const auto tokens = inputs<Arguments>().begin();
    const ge::DataType type = context->GetInputDataType(0);
    const auto column = std::find(tokens->dtypes, tokens->dtypes + kNumColumns, type) - tokens->dtypes;
    if (column == kNumColumns) return ge::GRAPH_FAILED;
    size_t index = 0;
    for (const auto& row : outputs<Arguments>())
        context->SetOutputDataType(index++, row.dtypes[column]);
    return ge::GRAPH_SUCCESS;
}

}  // namespace ascend_deepep::cann

#endif  // ASCEND_DEEPEP_OP_HOST_CANN_INFERSHAPE_H
