// SPDX-License-Identifier: Apache-2.0
// SetFlag, WaitFlag, PipeBarrier, DataSyncBarrier.
// Layer: twin/include. Pairing is checked under every policy. A wait for the scalar unit runs the source pipe up to
// the flag; a wait of another pipe is an entry in its FIFO. Under Sim a barrier of one pipe orders that pipe only,
// as on hardware: the scalar unit goes on.
#pragma once

#include "twin_detail/compile_rules.h"
#include "twin_detail/types.h"

namespace ascend_deepep::twin {

[[gnu::always_inline]] inline EventFlag& event_flag(const char* operation, AscendC::HardEvent event, int32_t id) {
    require(id >= 0 && id < kNumEventIds, rules::kEventId, operation, static_cast<uint64_t>(id), kNumEventIds - 1,
            "take ids from TPipe::FetchEventID or AllocEventID");
    return scalar_core(operation).flags[static_cast<int>(event)][id];
}

}  // namespace ascend_deepep::twin

namespace AscendC {

template <HardEvent event>
__aicore__ inline void SetFlag(int32_t eventID) {
    using namespace ascend_deepep::twin;
    EventFlag& flag = event_flag("SetFlag", event, eventID);
    require(!flag.is_set, rules::kEventSetTwice, "SetFlag", static_cast<uint64_t>(eventID), 0,
            "wait for the flag before setting it again, or use another id");
    flag.is_set = true;
    if constexpr (Policy::kDeferred) {
        flag.position = current_core().deferred->issued(pipes_of(event).source);
    }
}

template <HardEvent event>
__aicore__ inline void WaitFlag(int32_t eventID) {
    using namespace ascend_deepep::twin;
    EventFlag& flag = event_flag("WaitFlag", event, eventID);
    require(flag.is_set, rules::kEventNotSet, "WaitFlag", static_cast<uint64_t>(eventID), 0,
            "set the same event and id first");
    flag.is_set = false;
    if constexpr (Policy::kDeferred) {
        constexpr PipePair kPipes = pipes_of(event);
        DeferredPipes& pipes = *current_core().deferred;
        if constexpr (kPipes.target == Pipe::kS) {
            current_core().hooks->pipe_wait();
            pipes.drain(kPipes.source, flag.position);
        } else {
            pipes.push_wait(kPipes.target, kPipes.source, flag.position);
        }
    }
}

template <pipe_t pipe>
__aicore__ inline void PipeBarrier() {
    static_assert(pipe == PIPE_V || pipe == PIPE_MTE2 || pipe == PIPE_MTE3 || pipe == PIPE_ALL,
                  ASCEND_DEEPEP_BARRIER_PIPE);
    static_cast<void>(ascend_deepep::twin::scalar_core("PipeBarrier"));
    if constexpr (ascend_deepep::twin::Policy::kDeferred && pipe == PIPE_ALL) {
        ascend_deepep::twin::current_core().hooks->pipe_wait();
        ascend_deepep::twin::current_core().deferred->drain_all();
    }
}

template <MemDsbT arg0>
__aicore__ inline void DataSyncBarrier() {
    if constexpr (arg0 == MemDsbT::DDR || arg0 == MemDsbT::ALL) {
        ascend_deepep::twin::fence_modelled(ascend_deepep::twin::GmUnit::kScalar);
    }
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

}  // namespace AscendC
