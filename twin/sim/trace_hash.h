// SPDX-License-Identifier: Apache-2.0
// The fingerprint of a run: every decision and event, as numbers that do not depend on addresses, threads, wall clock
// or containers. Layer: twin/sim. Two runs with the same fingerprint took the same steps.
#pragma once

#include <cstdint>

namespace ascend_deepep::sim {

enum class TraceKind : uint32_t {
    kRun = 1,    // an actor goes on
    kPipe,       // a core's pipe takes a step
    kAccess,     // scalar or SIMT access to GM
    kPut,        // a remote write leaves
    kPiece,      // a piece of it becomes visible
    kFetch,      // a WQE is read from its ring
    kExecute,    // its source is read
    kComplete,   // its CQE is written
    kDoorbell,   // a register is written
    kSleep,      // a core has nothing new to look at
    kTime,       // the clock jumps: nothing else can move
    kLaunch,     // an operation begins
    kReturn,     // a core has returned
    kFault,      // a planted fault strikes
    kOperation,  // an operation has ended
    kStore,      // a posted store becomes visible
};

class TraceHash {
  public:
    void mix(TraceKind kind, uint64_t actor, uint64_t value) {
        state_ = (state_ ^ (value + (actor << 40) + (static_cast<uint64_t>(kind) << 56))) * 0x9E3779B97F4A7C15ULL;
        state_ ^= state_ >> 29;
        ++events_;
    }
    uint64_t value() const { return state_ ^ (events_ * 0xBF58476D1CE4E5B9ULL); }
    uint64_t events() const { return events_; }

  private:
    uint64_t state_ = 0x6A09E667F3BCC909ULL;
    uint64_t events_ = 0;
};

}  // namespace ascend_deepep::sim
