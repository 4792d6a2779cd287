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

inline void take_dtype_attributes(DispatchArguments* arguments) {
    op_host::DispatchCall& call = arguments->call;
    if (arguments->y_dtype != kNoDtype) call.y_dtype = arguments->y_dtype;
    if (arguments->x_dtype != kNoDtype) call.x_dtype = arguments->x_dtype;
    if (arguments->scales_dtype != kNoDtype) call.scales_dtype = arguments->scales_dtype;
}
inline void take_dtype_attributes(CombineArguments* /*arguments*/) {}

// Shapes only: shape inference has no dtypes and needs none.
template <typename Arguments>
Arguments read(const gert::InferShapeContext& context) {
    Arguments arguments;
    read_attributes(context.GetAttrs(), &arguments);
    take_dtype_attributes(&arguments);
    size_t index = 0;
    for (const auto& row : inputs<Arguments>()) {
        if (const gert::Shape* shape = context.GetOptionalInputShape(index)) {
            op_host::TensorInfo& tensor = *row.tensor(arguments);
            tensor.is_present = true;
            tensor.shape = extents(*shape);
        }
        ++index;
    }
    return arguments;
}

template <typename Arguments>
Arguments read(const gert::TilingContext& context) {
    Arguments arguments;
    read_attributes(context.GetAttrs(), &arguments);
    take_dtype_attributes(&arguments);
    size_t index = 0;
    for (const auto& row : inputs<Arguments>()) {
        const gert::StorageShape* shape = context.GetOptionalInputShape(index);
        const gert::CompileTimeTensorDesc* description = context.GetOptionalInputDesc(index);
        if (shape != nullptr && description != nullptr) {
            op_host::TensorInfo& tensor = *row.tensor(arguments);
            tensor.is_present = true;
            tensor.dtype = dtype_of(description->GetDataType());
            tensor.shape = extents(shape->GetOriginShape());
        }
        ++index;
    }
    return arguments;
}

}  // namespace ascend_deepep::cann

#endif  // ASCEND_DEEPEP_OP_HOST_CANN_CONTEXT_H
