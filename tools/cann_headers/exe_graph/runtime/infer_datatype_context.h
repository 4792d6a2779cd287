// SPDX-License-Identifier: Apache-2.0
//
// Stand-in (tools/cann_headers/README.md): the context of dtype inference.
#ifndef ASCEND_DEEPEP_CANN_HEADERS_INFER_DATATYPE_CONTEXT_H
#define ASCEND_DEEPEP_CANN_HEADERS_INFER_DATATYPE_CONTEXT_H

#include "exe_graph/runtime/extended_kernel_context.h"

namespace gert {

class InferDataTypeContext : public ExtendedKernelContext {
  public:
    using ExtendedKernelContext::ExtendedKernelContext;
    ge::DataType GetOptionalInputDataType(const size_t ir_index) const {
        const stand_in::Tensor* tensor = input(ir_index);
        return tensor == nullptr ? ge::DT_UNDEFINED : tensor->dtype;
    }
    ge::graphStatus SetOutputDataType(const size_t index, const ge::DataType datatype) {
        if (index >= values_.outputs.size()) return ge::GRAPH_FAILED;
        values_.outputs[index].dtype = datatype;
        return ge::GRAPH_SUCCESS;
    }
};

}  // namespace gert

#endif  // ASCEND_DEEPEP_CANN_HEADERS_INFER_DATATYPE_CONTEXT_H
