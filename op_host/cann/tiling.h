// SPDX-License-Identifier: Apache-2.0
//
// Shared parts of the tiling functions. Layer: op_host/cann.
#ifndef ASCEND_DEEPEP_OP_HOST_CANN_TILING_H
#define ASCEND_DEEPEP_OP_HOST_CANN_TILING_H

#include <string>
#include <vector>

#include "contract/limits.h"
#include "op_host/cann/columns.h"
#include "op_host/cann/context.h"
#include "op_host/cann/log.h"
#include "op_host/cann/machine.h"
#include "op_host/status.h"

namespace ascend_deepep::cann {

// An output that the caller allocated: how the kernel needs it.
struct OutputNeed {
    size_t index;
    Field field;       // as a refusal names it to peers
    int64_t elements;  // 0: the kernel does not write it
};

// The first output of another dtype than the call's column has, or too small, as a refusal of `kind` on this rank; ok
// when there is none.
op_host::Status check_outputs(const gert::TilingContext& context, OperationKind kind, uint32_t rank,
                              const Table<OutputRow>& outputs, const Column& column,
                              const std::vector<OutputNeed>& needs);

// What every launch asks for: all cores at once, since they poll each other, and the UB that op_host counts on. The
// kernels' workspace belongs to the communicator, so none is asked for.
ge::graphStatus set_launch(gert::TilingContext& context, uint32_t num_cores);

// Finds the communicator, lets `fill` write the tiling data and asks for the launch. A call on no communicator fails:
// no other rank can be waiting in it. A refused call succeeds here, since the kernel has to tell the other ranks.
// fill(found, arguments, tiling) returns the refusal, or ok.
template <typename Arguments, typename Tiling, typename Fill>
ge::graphStatus tile(gert::TilingContext* context, Fill fill) {
    const auto fail = [context](const std::string& message) {
        log_error(context->GetNodeName(), message);
        return ge::GRAPH_FAILED;
    };
    const Arguments arguments = read<Arguments>(*context);
    const FoundMachine found = find_machine(arguments.group_ep);
    if (!found.error.empty()) return fail(found.error);
    auto* tiling = context->GetTilingData<Tiling>();
    if (tiling == nullptr) {
        return fail("the buffer for tiling data has less than " + std::to_string(sizeof(Tiling)) +
                    " bytes; install an operator package whose kernels and libraries are of one release");
    }
    const op_host::Status status = fill(found, arguments, tiling);
    if (!status.ok()) log_error(context->GetNodeName(), status.message);
    return set_launch(*context, found.machine.num_cores);
}

}  // namespace ascend_deepep::cann

#endif  // ASCEND_DEEPEP_OP_HOST_CANN_TILING_H
