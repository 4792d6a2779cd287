// SPDX-License-Identifier: Apache-2.0
//
// What was captured of a communicator's calls on this rank. Layer: framework. docs/trace.md.
#ifndef ASCEND_DEEPEP_FRAMEWORK_RUNTIME_TRACE_H
#define ASCEND_DEEPEP_FRAMEWORK_RUNTIME_TRACE_H

#include <array>
#include <string>
#include <vector>

#include "contract/window_layout.h"
#include "op_host/calls.h"
#include "twin/runtime/capture.h"

namespace ascend_deepep {

using CallInput = std::array<std::string, 3>;  // of a tensor: name, dtype, sizes with commas between them

struct CallTrace {
    OperationKind kind;
    uint64_t from_ns, to_ns;
    uint32_t num_cores;
    std::vector<CallInput> inputs;
};

struct Trace {
    std::vector<CallTrace> calls;  // an event's `call` is an index here
    std::vector<twin::CaptureEvent> events;
    uint64_t dropped = 0;
    WindowLayout layout{};  // says what an offset is
    uint32_t queues_per_peer = 1;
};

std::vector<CallInput> input_shapes(const op_host::DispatchCall& call);
std::vector<CallInput> input_shapes(const op_host::CombineCall& call);

constexpr uint64_t kMaxTraceEvents = uint64_t{1} << 26;

// Such as "dispatch half"; "" where the bytes lie in no region that ranks write for each other.
const char* region_name(const WindowLayout& layout, uint64_t offset);

}  // namespace ascend_deepep

#endif  // ASCEND_DEEPEP_FRAMEWORK_RUNTIME_TRACE_H
