// SPDX-License-Identifier: Apache-2.0
//
// Definition of operator DispatchV2 of the operator package. Layer: op_host/cann.
// The arguments are in arguments.cpp; op_kernel/package/dispatch_v2.cpp takes them in that order.
#include "op_host/cann/definition.h"

namespace ops {

class DispatchV2 : public OpDef {
  public:
    explicit DispatchV2(const char* name) : OpDef(name) {
        namespace cann = ascend_deepep::cann;
        cann::add_arguments<cann::DispatchArguments>(*this);
        SetInferShape(cann::infer_dispatch_shape).SetInferDataType(cann::infer_dispatch_dtype);
        cann::add_core(*this, cann::tile_dispatch);
    }
};

OP_ADD(DispatchV2);

}  // namespace ops
