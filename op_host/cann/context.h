// SPDX-License-Identifier: Apache-2.0
//
// Reads the arguments of a call out of the contexts that CANN hands to the registered functions. Layer: op_host/cann.
// Inputs are asked for by their place in the definition, with the calls for optional ones: those answer for required
// inputs too, and a required input that is missing becomes a refusal of op_host instead of a fault here.
#ifndef ASCEND_DEEPEP_OP_HOST_CANN_CONTEXT_H
#define ASCEND_DEEPEP_OP_HOST_CANN_CONTEXT_H

#include "op_host/cann/arguments.h"
#include "op_host/cann/functions.h"

namespace ascend_deepep::cann {

Dtype dtype_of(ge::DataType type);
ge::DataType cann_dtype(Dtype dtype);  // DT_UNDEFINED for those that dtype_of never gives
std::vector<int64_t> extents(const gert::Shape& shape);

// No answer from the context leaves the default of an attribute.
template <typename Arguments>
void read_attributes(const gert::RuntimeAttrs* attrs, Arguments* arguments) {
    if (attrs == nullptr) return;
    size_t index = 0;
    for (const auto& row : attributes<Arguments>()) {
        if (row.number != nullptr) {
            if (const int64_t* number = attrs->GetInt(index)) *row.number(*arguments) = *number;
        } else if (const char* text = attrs->GetStr(index)) {
            *row.text(*arguments) = text;
        }
        ++index;
    }
}

// From CANN's numbers of dtypes to those that op_host reads.
void take_dtype_attributes(DispatchArguments* arguments);
inline void take_dtype_attributes(CombineArguments* /*arguments*/) {}

inline const gert::Shape& origin(const gert::Shape& shape) {
    return shape;
}
inline const gert::Shape& origin(const gert::StorageShape& shape) {
    return shape.GetOriginShape();
}

// Of shape inference or of tiling.
template <typename Arguments, typename Context>
Arguments read(const Context& context) {
    Arguments arguments;
    read_attributes(context.GetAttrs(), &arguments);
    take_dtype_attributes(&arguments);
    size_t index = 0;
    for (const auto& row : inputs<Arguments>()) {
        const auto* shape = context.GetOptionalInputShape(index);
        const gert::CompileTimeTensorDesc* description = context.GetOptionalInputDesc(index);
        if (shape != nullptr && description != nullptr) {
            op_host::TensorInfo& tensor = *row.tensor(arguments);
            tensor.is_present = true;
            tensor.dtype = dtype_of(description->GetDataType());
            tensor.shape = extents(origin(*shape));
        }
        ++index;
    }
    return arguments;
}

// Dtype inference has no shapes; each input has the dimensions of a table, which is enough for "there is one".
template <typename Arguments>
Arguments read_dtypes(const gert::InferDataTypeContext& context) {
    Arguments arguments;
    read_attributes(context.GetAttrs(), &arguments);
    take_dtype_attributes(&arguments);
    size_t index = 0;
    for (const auto& row : inputs<Arguments>()) {
        const ge::DataType type = context.GetOptionalInputDataType(index++);
        if (type == ge::DT_UNDEFINED) continue;
        op_host::TensorInfo& tensor = *row.tensor(arguments);
        tensor.is_present = true;
        tensor.dtype = dtype_of(type);
        tensor.shape = {0, 0};
    }
    return arguments;
}

}  // namespace ascend_deepep::cann

#endif  // ASCEND_DEEPEP_OP_HOST_CANN_CONTEXT_H
