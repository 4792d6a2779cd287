// SPDX-License-Identifier: Apache-2.0
//
// Stand-in (tools/cann_headers/README.md): the context of shape inference.
#ifndef ASCEND_DEEPEP_CANN_HEADERS_INFER_SHAPE_CONTEXT_H
#define ASCEND_DEEPEP_CANN_HEADERS_INFER_SHAPE_CONTEXT_H

#include "exe_graph/runtime/extended_kernel_context.h"

namespace gert {

class InferShapeContext : public ExtendedKernelContext {
  public:
    using ExtendedKernelContext::ExtendedKernelContext;
    const Shape* GetOptionalInputShape(const size_t ir_index) const {
        const stand_in::Tensor* tensor = input(ir_index);
        return tensor == nullptr ? nullptr : &tensor->shape.shape;
    }
    Shape* GetOutputShape(const size_t index) {
        return index < values_.outputs.size() ? &values_.outputs[index].shape.shape : nullptr;
    }
};

}  // namespace gert

#endif  // ASCEND_DEEPEP_CANN_HEADERS_INFER_SHAPE_CONTEXT_H
