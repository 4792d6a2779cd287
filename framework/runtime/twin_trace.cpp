// SPDX-License-Identifier: Apache-2.0
//
// Beginning and ending the trace of a twin communicator. Layer: framework.
#include <string>
#include <utility>

#include "framework/runtime/twin_call.h"

namespace ascend_deepep {

op_host::Status TwinCommunicator::start_trace(uint64_t max_events) {
    const Call call(*this);
    if (!call.status.ok()) return call.status;
    if (is_traced_ || max_events == 0 || max_events > kMaxTraceEvents) {
        return own_refusal(options_.rank, Code::kOutOfRange, Field::kNone, static_cast<int64_t>(max_events),
                           kMaxTraceEvents,
                           is_traced_ ? "a trace of communicator '" + options_.name + "' runs already: stop it first"
                                      : "events = " + std::to_string(max_events) + " is outside [1, " +
                                            std::to_string(kMaxTraceEvents) + "]");
    }
    capture_ = std::make_unique<twin::Capture>(max_events);
    traced_calls_.clear();
    call.resources->fabric->set_capture(capture_.get());
    is_traced_ = true;
    return {};
}

op_host::Status TwinCommunicator::stop_trace(Trace* trace) {
    const Call call(*this);
    // Of a communicator that a failure has broken, or that is closed, a trace is worth having too.
    if (!call.status.ok() && (is_busy_ || !is_traced_)) return call.status;
    if (!is_traced_) {
        return own_refusal(options_.rank, Code::kOutOfRange, Field::kNone, 0, 1,
                           "no trace of communicator '" + options_.name + "' runs: start one first");
    }
    if (const auto held = resources()) held->fabric->set_capture(nullptr);
    is_traced_ = false;
    trace->calls = std::move(traced_calls_);
    trace->events = capture_->take_events();
    trace->dropped = capture_->dropped();
    trace->layout = window_layout(options_.limits);
    trace->queues_per_peer = options_.queues_per_peer;
    capture_.reset();
    return {};
}

}  // namespace ascend_deepep
