// SPDX-License-Identifier: Apache-2.0
//
// op_host's calls as the values of a context of the stand-in, and the definitions that were added. Layer: tests.
#ifndef ASCEND_DEEPEP_TESTS_CANN_CONTEXTS_H
#define ASCEND_DEEPEP_TESTS_CANN_CONTEXTS_H

#include <stdexcept>

#include "op_host/cann/arguments.h"
#include "register/op_def_registry.h"

namespace ascend_deepep::test {

inline ::ops::OpDef definition(const std::string& type) {
    for (const auto& make : stand_in::added_definitions()) {
        ::ops::OpDef made = make();
        if (made.type == type) return made;
    }
    throw std::runtime_error("no definition of " + type);
}

inline ge::DataType cann_dtype(Dtype dtype) {
    switch (dtype) {
        case Dtype::kBf16:
            return ge::DT_BF16;
        case Dtype::kFp16:
            return ge::DT_FLOAT16;
        case Dtype::kFp32:
            return ge::DT_FLOAT;
        case Dtype::kInt32:
            return ge::DT_INT32;
        case Dtype::kInt64:
            return ge::DT_INT64;
        case Dtype::kBool:
            return ge::DT_BOOL;
        case Dtype::kInt8:
            return ge::DT_INT8;
        case Dtype::kUint8:
            return ge::DT_UINT8;
        case Dtype::kE4m3:
            return ge::DT_FLOAT8_E4M3FN;
        case Dtype::kE5m2:
            return ge::DT_FLOAT8_E5M2;
        case Dtype::kE8m0:
            return ge::DT_FLOAT8_E8M0;
        default:
            return ge::DT_UNDEFINED;
    }
}

inline stand_in::Tensor cann_tensor(ge::DataType dtype, const std::vector<int64_t>& sizes) {
    stand_in::Tensor tensor;
    tensor.dtype = dtype;
    for (const int64_t size : sizes)
        tensor.shape.shape.AppendDim(size);
    return tensor;
}

// Inputs and attributes by the tables; outputs empty, with room for `tiling_bytes` of tiling data.
template <typename Arguments>
stand_in::ContextValues values_of(Arguments arguments, size_t tiling_bytes = 0) {
    stand_in::ContextValues values;
    for (const auto& row : cann::inputs<Arguments>()) {
        const op_host::TensorInfo& info = *row.tensor(arguments);
        values.inputs.emplace_back();
        if (info.is_present) values.inputs.back() = cann_tensor(cann_dtype(info.dtype), info.shape);
    }
    for (const auto& row : cann::attributes<Arguments>()) {
        if (row.number != nullptr) {
            values.attributes.emplace_back(*row.number(arguments));
        } else {
            values.attributes.emplace_back(*row.text(arguments));
        }
    }
    values.outputs.resize(cann::outputs<Arguments>().size);
    values.tiling_data.assign(tiling_bytes, 0xCD);
    return values;
}

inline std::vector<int64_t> sizes_of(const stand_in::Tensor& tensor) {
    std::vector<int64_t> sizes;
    for (size_t axis = 0; axis < tensor.shape.shape.GetDimNum(); ++axis)
        sizes.push_back(tensor.shape.shape.GetDim(axis));
    return sizes;
}

}  // namespace ascend_deepep::test

#endif  // ASCEND_DEEPEP_TESTS_CANN_CONTEXTS_H
