// SPDX-License-Identifier: Apache-2.0
//
// Shape and dtype of CombineV2's output: a row for each token, as wide as those of expand_x. Layer: op_host/cann.
#include "op_host/cann/infershape.h"

namespace ascend_deepep::cann {

ge::graphStatus infer_combine_shape(gert::InferShapeContext* context) {
    const CombineArguments arguments = read<CombineArguments>(*context);
    set_shape(*context, 0, {known_extent(arguments.call.expert_ids, 0), known_extent(arguments.call.expand_x, 1)});
    return ge::GRAPH_SUCCESS;
}

ge::graphStatus infer_combine_dtype(gert::InferDataTypeContext* context) {
    return infer_dtypes<CombineArguments>(context);
}

}  // namespace ascend_deepep::cann
