// SPDX-License-Identifier: Apache-2.0
// The sim policy's pipes: MTE2, MTE3 and V of one core as FIFOs whose work takes effect as late as the kernel allows.
// Layer: twin/runtime. A position counts the entries issued to a pipe; "position p is done" means that the first p
// entries took effect. A wait is an entry itself. Every wait names a position issued before it, so draining ends.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>

namespace ascend_deepep::twin {

enum class Pipe : uint8_t { kS, kV, kMte2, kMte3 };
constexpr int kNumPipes = 4;

class __attribute__((visibility("default"))) DeferredPipes {
  public:
    void push(Pipe pipe, std::function<void()> work);

    // `pipe` stands still until position `position` of `source` is done.
    void push_wait(Pipe pipe, Pipe source, uint64_t position);

    // The position that the next SetFlag of `pipe` publishes.
    uint64_t issued(Pipe pipe) const { return fifos_[index(pipe)].issued; }

    // Runs what `pipe` needs to reach `position`, in other pipes too; what nothing waits for stays.
    void drain(Pipe pipe, uint64_t position);

    // Runs everything, the consumer pipes first: a missing flag shows as stale or poisoned data.
    void drain_all();

    // What hardware would do in the meantime: one entry of every pipe that can go on. True if any ran.
    bool advance();
    // The same for one pipe.
    bool advance(Pipe pipe);

    bool empty() const { return pending_ == 0; }
    void clear();

  private:
    struct Entry {
        Pipe source;
        uint64_t position;
        std::function<void()> work;  // empty: a wait
    };
    struct Fifo {
        std::deque<Entry> entries;
        uint64_t issued = 0;
        uint64_t done = 0;
    };
    static int index(Pipe pipe) { return static_cast<int>(pipe); }

    std::array<Fifo, kNumPipes> fifos_;
    uint64_t pending_ = 0;
};

}  // namespace ascend_deepep::twin
