// SPDX-License-Identifier: Apache-2.0
// What happened in launches and when, in real time, for a person to look at: stages, waits and turns of cores, what
// they put and read, what the engine did. Layer: twin/runtime; docs/trace.md. It only listens: nothing depends on it.
// Events lie in memory that is there before the first one; what finds no room is counted.
#pragma once

#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

namespace ascend_deepep::twin {

enum class CaptureKind : uint8_t {
    kStage,     // a core in a stage, by its progress word
    kWait,      // a core polls: it waits in `stage` for `peer`, as the kernel says
    kPause,     // a core that could go on lets the others go on
    kIdle,      // of the rank: all its cores polled, and its thread looked around or slept
    kDoorbell,  // a core: entries of `queue` up to `index` are ready
    kWqe,       // the engine fetched entry `index` of `queue`, wrote `bytes` at `offset` of the peer's window by
                // `executed_ns`, and completed it
    kPut,       // a core put `bytes` at `offset` of the peer's window
    kRead,      // a core read `bytes` of data, no flags, at `offset` of the own window
};

constexpr uint16_t kNoCore = 0xFFFF;

struct CaptureEvent {
    uint64_t from_ns, to_ns, executed_ns;  // of the monotonic clock, which all ranks of a host share
    uint64_t offset;
    uint32_t bytes;
    uint32_t call;  // number of the launch
    uint32_t stage, peer, queue, index;
    uint16_t core;
    CaptureKind kind;
    uint8_t reserved[5];
};
static_assert(sizeof(CaptureEvent) == 64, "one line");

// What a core that polls waits for, in the kernel's own numbers.
struct Waiting {
    uint32_t stage = 0, peer = 0;
};

class Capture {
  public:
    explicit Capture(uint64_t max_events);

    static uint64_t now_ns() {
        const auto now = std::chrono::steady_clock::now().time_since_epoch();
        return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
    }

    // A launch is between these; what is open at its end, ends with it.
    void begin(uint32_t num_cores);
    void end();

    // The launch's round robin. A core gives way to the next one at once, so one look at the clock serves both; in a
    // wait it is the kernel's own look, of the same clock.
    void polls(uint32_t core, const Waiting& waiting, uint64_t now_ns, bool has_progressed);
    void pauses(uint32_t core);
    void goes_on(uint32_t core);
    void returns(uint32_t core);
    void idle_begins();
    void idle_ends();
    void works() { close_idle(); }  // a round in which some core did more than poll

    // The fabric.
    void enters(uint32_t core, uint32_t stage);
    void rings(uint32_t queue, uint32_t peer, uint32_t producer);
    void add(CaptureKind kind, const CaptureEvent& event);  // fills in kind, launch and, where one runs, the core

    const std::vector<CaptureEvent>& events() const { return events_; }
    std::vector<CaptureEvent> take_events() { return std::move(events_); }
    uint64_t dropped() const { return dropped_; }
    uint32_t num_launches() const { return num_launches_; }

  private:
    struct CoreState {
        CaptureEvent stage{}, wait{};
        bool has_stage = false, has_wait = false, is_paused = false;
        uint64_t resumed_ns = 0;  // when it last had its turn; where it pauses: since when
    };

    void keep(const CaptureEvent& event);
    void close_wait(CoreState& core);
    void close_stage(CoreState& core, uint64_t at_ns);
    void close_idle();

    uint64_t max_events_;
    std::vector<CaptureEvent> events_;
    uint64_t dropped_ = 0;
    uint32_t num_launches_ = 0;
    std::vector<CoreState> cores_;
    uint64_t turn_ns_ = 0;  // when the running core got its turn
    CaptureEvent idle_{};
    bool is_idle_ = false;
};

}  // namespace ascend_deepep::twin
