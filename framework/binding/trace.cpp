// SPDX-License-Identifier: Apache-2.0
//
// Layer: framework, binding.
#include "framework/binding/trace.h"

#include "framework/binding/errors.h"
#include "op_host/messages.h"

namespace ascend_deepep::binding {
namespace {

using twin::CaptureEvent;
using twin::CaptureKind;

// Names once, for all events that have them.
class Names {
  public:
    explicit Names(const WindowLayout& layout) : layout_(layout) {
        for (uint32_t stage = 0; stage <= static_cast<uint32_t>(Stage::kExit); ++stage)
            stages_.append(op_host::stage_name(static_cast<Stage>(stage)));
    }
    py::object stage(uint32_t number) const { return stages_[number < stages_.size() ? number : 0]; }
    py::str region(const CaptureEvent& event) const { return region_name(layout_, event.offset); }

  private:
    WindowLayout layout_;
    py::list stages_;
};

// None: by nobody's launch.
py::object core(const CaptureEvent& event) {
    return event.core == twin::kNoCore ? py::object(py::none()) : py::object(py::int_(event.core));
}

py::list call_list(const Trace& trace) {
    py::list calls;
    for (const CallTrace& call : trace.calls) {
        py::list inputs;
        for (const CallInput& input : call.inputs)
            inputs.append(py::make_tuple(input[0], input[1], input[2]));
        calls.append(py::make_tuple(op_host::kind_name(call.kind), call.from_ns, call.to_ns, call.num_cores, inputs));
    }
    return calls;
}

py::dict trace_dict(const Trace& trace) {
    const Names names(trace.layout);
    py::list stages, waits, pauses, idles, doorbells, wqes, puts, reads;
    for (const CaptureEvent& e : trace.events) {
        switch (e.kind) {
            case CaptureKind::kStage:
                stages.append(py::make_tuple(e.core, e.call, names.stage(e.stage), e.from_ns, e.to_ns));
                break;
            case CaptureKind::kWait:
                waits.append(py::make_tuple(e.core, e.call, names.stage(e.stage), e.peer, e.from_ns, e.to_ns));
                break;
            case CaptureKind::kPause:
                pauses.append(py::make_tuple(e.core, e.call, e.from_ns, e.to_ns));
                break;
            case CaptureKind::kIdle:
                idles.append(py::make_tuple(e.call, e.from_ns, e.to_ns));
                break;
            case CaptureKind::kDoorbell:
                doorbells.append(py::make_tuple(e.core, e.call, e.peer, e.queue, e.index, e.from_ns));
                break;
            case CaptureKind::kWqe:
                wqes.append(py::make_tuple(core(e), e.call, e.peer, e.queue, e.index, e.from_ns, e.executed_ns, e.to_ns,
                                           e.from_ns, e.executed_ns, e.offset, e.bytes, names.region(e)));
                break;
            case CaptureKind::kPut:
                puts.append(
                    py::make_tuple(core(e), e.call, e.peer, e.offset, e.bytes, e.from_ns, e.to_ns, names.region(e)));
                break;
            case CaptureKind::kRead:
                reads.append(py::make_tuple(e.core, e.call, e.offset, e.bytes, e.from_ns));
                break;
        }
    }
    py::dict dict;
    dict["calls"] = call_list(trace);
    dict["stages"] = stages;
    dict["waits"] = waits;
    dict["pauses"] = pauses;
    dict["idles"] = idles;
    dict["doorbells"] = doorbells;
    dict["wqes"] = wqes;
    dict["puts"] = puts;
    dict["reads"] = reads;
    dict["dropped"] = trace.dropped;
    return dict;
}

}  // namespace

void start_trace(Communicator& communicator, uint64_t max_events) {
    raise_if_bad(communicator.start_trace(max_events));
}

py::dict stop_trace(Communicator& communicator) {
    Trace trace;
    raise_if_bad(communicator.stop_trace(&trace));
    return trace_dict(trace);
}

}  // namespace ascend_deepep::binding
