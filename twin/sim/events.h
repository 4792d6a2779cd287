// SPDX-License-Identifier: Apache-2.0
// What will happen at a moment of virtual time: pieces that become visible, steps of WQEs, wake-ups. Layer: twin/sim.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace ascend_deepep::sim {

enum class EventKind : uint32_t {
    kPiece,     // rank = communicator; a = flight, b = first byte, c = bytes
    kFetch,     // rank = seat; a = peer: the next WQE of the queue is read
    kExecute,   // rank = seat; a = WQE record
    kComplete,  // rank = seat; a = WQE record
    kWake,      // a = actor, which has slept or stalled
    kLook,      // the process looks whether its peers live
    kStore,     // rank = seat; a = core: one of its posted stores becomes visible
};

struct Event {
    uint64_t due;
    uint64_t order;  // of scheduling: equal moments keep it
    EventKind kind;
    uint32_t rank;
    uint32_t a, b, c;
};

class EventQueue {
  public:
    void add(uint64_t due, EventKind kind, uint32_t rank, uint32_t a = 0, uint32_t b = 0, uint32_t c = 0) {
        heap_.push_back({due, next_++, kind, rank, a, b, c});
        std::push_heap(heap_.begin(), heap_.end(), is_later);
    }
    bool empty() const { return heap_.empty(); }
    uint64_t next_due() const { return heap_.front().due; }
    const Event& next() const { return heap_.front(); }
    bool next_is(EventKind kind) const { return heap_.front().kind == kind; }
    Event take() {
        std::pop_heap(heap_.begin(), heap_.end(), is_later);
        const Event event = heap_.back();
        heap_.pop_back();
        return event;
    }

  private:
    static bool is_later(const Event& a, const Event& b) { return a.due != b.due ? a.due > b.due : a.order > b.order; }
    std::vector<Event> heap_;
    uint64_t next_ = 0;
};

}  // namespace ascend_deepep::sim
