// SPDX-License-Identifier: Apache-2.0
//
// From a call to its column of dtypes. Layer: op_host/cann.
#include "op_host/cann/columns.h"

#include "op_host/cann/context.h"
#include "op_host/messages.h"
#include "op_host/quant.h"
#include "op_host/text.h"

namespace ascend_deepep::cann {

Column column_of(const op_host::DispatchCall& call) {
    const op_host::QuantPlan plan = op_host::quant_plan(call);
    // Torch has tensors of bytes for e8m0, CANN a dtype.
    const Dtype row_scales = plan.scale_dtype == Dtype::kUint8 ? Dtype::kE8m0 : plan.scale_dtype;
    return {cann_dtype(call.x.dtype), cann_dtype(call.scales.is_present ? call.scales.dtype : Dtype::kFp32),
            cann_dtype(plan.expand_dtype), cann_dtype(row_scales)};
}

Column column_of(const op_host::CombineCall& call) {
    return {cann_dtype(call.expand_x.dtype)};
}

std::string no_kernel_text(const Column& column) {
    const auto name = [](ge::DataType type) { return op_host::dtype_name(dtype_of(type)); };
    return op_host::text("no kernel takes tokens of ", name(column.tokens), " with scales of ", name(column.scales),
                         " and gives rows of ", name(column.rows), " with scales of ", name(column.row_scales),
                         ": docs/compatibility.md lists the dtypes of each quant_mode");
}

}  // namespace ascend_deepep::cann
