// SPDX-License-Identifier: Apache-2.0
//
// Definition of operator CombineV2 of the operator package. Layer: op_host/cann.
// The arguments are in arguments.cpp; op_kernel/package/combine_v2.cpp takes them in that order.
#include "op_host/cann/definition.h"

namespace ops {

class CombineV2 : public OpDef {
  public:
    explicit CombineV2(const char* name) : OpDef(name) {
        namespace cann = ascend_deepep::cann;
        cann::add_arguments<cann::CombineArguments>(*this);
        SetInferShape(cann::infer_combine_shape).SetInferDataType(cann::infer_combine_dtype);
        cann::add_core(*this, cann::tile_combine);
    }
};

OP_ADD(CombineV2);

}  // namespace ops
