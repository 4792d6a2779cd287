// SPDX-License-Identifier: Apache-2.0
//
// The functions that the definitions of the operators register. Layer: op_host/cann.
#ifndef ASCEND_DEEPEP_OP_HOST_CANN_FUNCTIONS_H
#define ASCEND_DEEPEP_OP_HOST_CANN_FUNCTIONS_H

#include "exe_graph/runtime/infer_datatype_context.h"
#include "exe_graph/runtime/infer_shape_context.h"
#include "exe_graph/runtime/tiling_context.h"

namespace ascend_deepep::cann {

ge::graphStatus infer_dispatch_shape(gert::InferShapeContext* context);
ge::graphStatus infer_dispatch_dtype(gert::InferDataTypeContext* context);
ge::graphStatus tile_dispatch(gert::TilingContext* context);

ge::graphStatus infer_combine_shape(gert::InferShapeContext* context);
ge::graphStatus infer_combine_dtype(gert::InferDataTypeContext* context);
ge::graphStatus tile_combine(gert::TilingContext* context);

}  // namespace ascend_deepep::cann

#endif  // ASCEND_DEEPEP_OP_HOST_CANN_FUNCTIONS_H
