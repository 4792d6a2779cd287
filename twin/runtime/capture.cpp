// SPDX-License-Identifier: Apache-2.0
// Layer: twin/runtime.
#include "twin/runtime/capture.h"

#include "twin/runtime/core.h"

namespace ascend_deepep::twin {

Capture::Capture(uint64_t max_events) : max_events_(max_events) {
    // Written once, so that no event meets a page that is not there yet.
    events_.resize(max_events);
    events_.clear();
}

void Capture::begin(uint32_t num_cores) {
    cores_.assign(num_cores, CoreState{});
    is_idle_ = false;
}

void Capture::end() {
    const uint64_t now = now_ns();
    for (CoreState& core : cores_) {
        close_wait(core);
        close_stage(core, now);
    }
    close_idle();
    ++num_launches_;
}

void Capture::keep(const CaptureEvent& event) {
    if (events_.size() == max_events_) {
        ++dropped_;
        return;
    }
    events_.push_back(event);
}

void Capture::close_wait(CoreState& core) {
    if (!core.has_wait) return;
    core.has_wait = false;
    core.wait.to_ns = core.resumed_ns;
    keep(core.wait);
}

void Capture::close_stage(CoreState& core, uint64_t at_ns) {
    if (!core.has_stage) return;
    core.has_stage = false;
    core.stage.to_ns = at_ns;
    keep(core.stage);
}

void Capture::close_idle() {
    if (!is_idle_) return;
    is_idle_ = false;
    keep(idle_);
}

// Looks that follow each other, with nothing done in between, are one wait.
void Capture::polls(uint32_t index, const Waiting& waiting, uint64_t now_ns, bool has_progressed) {
    CoreState& core = cores_[index];
    turn_ns_ = now_ns;
    const bool is_same = core.wait.stage == waiting.stage && core.wait.peer == waiting.peer;
    if (core.has_wait && is_same && !has_progressed) return;
    close_wait(core);
    core.has_wait = true;
    core.wait = CaptureEvent{};
    core.wait.kind = CaptureKind::kWait;
    core.wait.from_ns = turn_ns_;
    core.wait.call = num_launches_;
    core.wait.core = static_cast<uint16_t>(index);
    core.wait.stage = waiting.stage;
    core.wait.peer = waiting.peer;
}

void Capture::pauses(uint32_t index) {
    CoreState& core = cores_[index];
    close_wait(core);
    turn_ns_ = now_ns();
    core.is_paused = true;
    core.resumed_ns = turn_ns_;
}

void Capture::goes_on(uint32_t index) {
    CoreState& core = cores_[index];
    if (core.is_paused && core.resumed_ns != turn_ns_) {
        CaptureEvent pause{};
        pause.kind = CaptureKind::kPause;
        pause.from_ns = core.resumed_ns;
        pause.to_ns = turn_ns_;
        pause.call = num_launches_;
        pause.core = static_cast<uint16_t>(index);
        keep(pause);
    }
    core.is_paused = false;
    core.resumed_ns = turn_ns_;
}

void Capture::returns(uint32_t index) {
    turn_ns_ = now_ns();
    close_wait(cores_[index]);
    close_stage(cores_[index], turn_ns_);
}

void Capture::idle_begins() {
    turn_ns_ = now_ns();
    if (is_idle_) return;
    is_idle_ = true;
    idle_ = CaptureEvent{};
    idle_.kind = CaptureKind::kIdle;
    idle_.from_ns = turn_ns_;
    idle_.call = num_launches_;
    idle_.core = kNoCore;
}

void Capture::idle_ends() {
    turn_ns_ = now_ns();
    idle_.to_ns = turn_ns_;
}

void Capture::enters(uint32_t index, uint32_t stage) {
    if (index >= cores_.size()) return;
    CoreState& core = cores_[index];
    const uint64_t now = now_ns();
    close_wait(core);
    close_stage(core, now);
    core.has_stage = true;
    core.stage = CaptureEvent{};
    core.stage.kind = CaptureKind::kStage;
    core.stage.from_ns = now;
    core.stage.call = num_launches_;
    core.stage.core = static_cast<uint16_t>(index);
    core.stage.stage = stage;
}

void Capture::rings(uint32_t queue, uint32_t peer, uint32_t producer) {
    CaptureEvent event{};
    event.from_ns = event.to_ns = now_ns();
    event.queue = queue;
    event.peer = peer;
    event.index = producer;
    add(CaptureKind::kDoorbell, event);
}

void Capture::add(CaptureKind kind, const CaptureEvent& event) {
    CaptureEvent added = event;
    added.kind = kind;
    added.call = num_launches_;
    added.core = kNoCore;
    if (current_core_pointer != nullptr) {
        added.core = static_cast<uint16_t>(current_core_pointer->index);
        if (added.core < cores_.size()) close_wait(cores_[added.core]);
    }
    keep(added);
}

}  // namespace ascend_deepep::twin
