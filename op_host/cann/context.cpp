// SPDX-License-Identifier: Apache-2.0
//
// CANN's dtypes and shapes in op_host's terms. Layer: op_host/cann.
#include "op_host/cann/context.h"

namespace ascend_deepep::cann {

Dtype dtype_of(ge::DataType type) {
    switch (type) {
        case ge::DT_BF16:
            return Dtype::kBf16;
        case ge::DT_FLOAT16:
            return Dtype::kFp16;
        case ge::DT_FLOAT:
            return Dtype::kFp32;
        case ge::DT_INT32:
            return Dtype::kInt32;
        case ge::DT_INT64:
            return Dtype::kInt64;
        case ge::DT_INT16:
            return Dtype::kInt16;
        case ge::DT_INT8:
            return Dtype::kInt8;
        case ge::DT_UINT8:
            return Dtype::kUint8;
        case ge::DT_BOOL:
            return Dtype::kBool;
        case ge::DT_DOUBLE:
            return Dtype::kFp64;
        default:
            return Dtype::kOther;
    }
}

std::vector<int64_t> extents(const gert::Shape& shape) {
    std::vector<int64_t> sizes;
    for (size_t axis = 0; axis < shape.GetDimNum(); ++axis)
        sizes.push_back(shape.GetDim(axis));
    return sizes;
}

}  // namespace ascend_deepep::cann
