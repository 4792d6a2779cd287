// SPDX-License-Identifier: Apache-2.0
//
// Dtypes and sizes of outputs, and what a launch asks for. Layer: op_host/cann.
// SetBlockDim and SetLocalMemorySize have newer names in CANN 9.1; these are in every release from 9.0 on.
#include "op_host/cann/tiling.h"

#include "op_host/messages.h"
#include "op_host/text.h"

namespace ascend_deepep::cann {
namespace {

constexpr uint32_t kStartTogether = 1;

int64_t output_elements(const gert::TilingContext& context, size_t index) {
    const gert::StorageShape* shape = context.GetOutputShape(index);
    return shape == nullptr ? 0 : shape->GetOriginShape().GetShapeSize();
}

int64_t output_dtype(const gert::TilingContext& context, size_t index) {
    const gert::CompileTimeTensorDesc* description = context.GetOutputDesc(index);
    return static_cast<int64_t>(description == nullptr ? Dtype::kOther : dtype_of(description->GetDataType()));
}

std::string describe(const OutputRow& row, const Refusal& refusal) {
    if (refusal.code == Code::kBadShape) {
        return op_host::text("output ", row.name, " has ", refusal.got, " elements, needs ", refusal.limit,
                             "; allocate it with the shape that the operator's shape inference gives");
    }
    const auto name = [](int64_t dtype) { return op_host::dtype_name(static_cast<Dtype>(dtype)); };
    return op_host::text("output ", row.name, " is ", name(refusal.got), ", must be ", name(refusal.limit),
                         "; allocate it with the dtype that the operator's dtype inference gives");
}

}  // namespace

op_host::Status check_outputs(const gert::TilingContext& context, OperationKind kind, uint32_t rank,
                              const Table<OutputRow>& outputs, const Column& column,
                              const std::vector<OutputNeed>& needs) {
    op_host::Status status;
    for (const OutputNeed& need : needs) {
        const OutputRow& row = outputs.rows[need.index];
        const auto wanted = static_cast<int64_t>(dtype_of(row.dtype.in(column)));
        const int64_t dtype = output_dtype(context, need.index);
        const int64_t elements = output_elements(context, need.index);
        if (dtype == wanted && elements >= need.elements) continue;
        const bool is_dtype = dtype != wanted;
        status.refusal.code = is_dtype ? Code::kBadDtype : Code::kBadShape;
        status.refusal.field = need.field;
        status.refusal.got = is_dtype ? dtype : elements;
        status.refusal.limit = is_dtype ? wanted : need.elements;
        status.refusal.rank = rank;
        status.message = op_host::text(op_host::kind_name(kind), ": ", describe(row, status.refusal));
        return status;
    }
    return status;
}

ge::graphStatus set_launch(gert::TilingContext& context, uint32_t num_cores) {
    size_t* workspace = context.GetWorkspaceSizes(1);
    if (workspace == nullptr) return ge::GRAPH_FAILED;
    workspace[0] = 0;
    const bool is_set = context.SetTilingKey(0) == ge::GRAPH_SUCCESS &&
                        context.SetBlockDim(num_cores) == ge::GRAPH_SUCCESS &&
                        context.SetLocalMemorySize(kKernelUbBytes) == ge::GRAPH_SUCCESS &&
                        context.SetScheduleMode(kStartTogether) == ge::GRAPH_SUCCESS;
    return is_set ? ge::GRAPH_SUCCESS : ge::GRAPH_FAILED;
}

}  // namespace ascend_deepep::cann
