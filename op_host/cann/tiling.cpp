// SPDX-License-Identifier: Apache-2.0
//
// Sizes of outputs, and what a launch asks for. Layer: op_host/cann.
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

}  // namespace

op_host::Status check_outputs(const gert::TilingContext& context, OperationKind kind, uint32_t rank,
                              const std::vector<OutputNeed>& needs) {
    op_host::Status status;
    for (const OutputNeed& need : needs) {
        const int64_t elements = output_elements(context, need.index);
        if (elements >= need.elements) continue;
        status.refusal.code = Code::kBadShape;
        status.refusal.field = need.field;
        status.refusal.got = elements;
        status.refusal.limit = need.elements;
        status.refusal.rank = rank;
        status.message =
            op_host::text(op_host::kind_name(kind), ": output ", need.name, " has ", elements, " elements, needs ",
                          need.elements, "; allocate it with the shape that the operator's shape inference gives");
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
