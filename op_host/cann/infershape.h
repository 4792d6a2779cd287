// SPDX-License-Identifier: Apache-2.0
//
// Shared parts of shape and dtype inference. Layer: op_host/cann.
#ifndef ASCEND_DEEPEP_OP_HOST_CANN_INFERSHAPE_H
#define ASCEND_DEEPEP_OP_HOST_CANN_INFERSHAPE_H

#include <algorithm>
#include <vector>

#include "op_host/cann/columns.h"
#include "op_host/cann/context.h"
#include "op_host/cann/log.h"
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

inline void set_shape(gert::InferShapeContext& context, size_t index, const std::vector<int64_t>& sizes) {
    gert::Shape* shape = context.GetOutputShape(index);
    if (shape == nullptr) return;
    shape->SetDimNum(0);
    for (const int64_t size : sizes)
        shape->AppendDim(size);
}

// Outputs have the dtypes of the call's column.
template <typename Arguments>
ge::graphStatus infer_dtypes(gert::InferDataTypeContext* context) {
    const Column column = column_of(read_dtypes<Arguments>(*context).call);
    if (!has_kernel<Arguments>(column)) {
        log_error(context->GetNodeName(), no_kernel_text(column));
        return ge::GRAPH_FAILED;
    }
    size_t index = 0;
    for (const auto& row : outputs<Arguments>())
        context->SetOutputDataType(index++, row.dtype.in(column));
    return ge::GRAPH_SUCCESS;
}

}  // namespace ascend_deepep::cann

#endif  // ASCEND_DEEPEP_OP_HOST_CANN_INFERSHAPE_H
