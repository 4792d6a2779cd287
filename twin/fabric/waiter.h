// SPDX-License-Identifier: Apache-2.0
// How an idle rank waits and how its peers wake it. Layer: twin/fabric.
// Few yields first, because with more ranks than processors the writer needs this one; then a futex on the own wake-up
// word. Writers bump that word once per round of their scheduler and call the kernel only when somebody sleeps.
#pragma once

#include <cstdint>
#include <vector>

#include "twin/fabric/window.h"

namespace ascend_deepep::twin {

class Waiter {
  public:
    Waiter(const WindowTable& windows, uint32_t rank);

    // A write into the window of `peer` was made.
    void note_write(uint32_t peer);
    // Tells the peers written to since the last call.
    void flush();
    // Gives the processor away for at most about a millisecond; returns early when a peer has written. The first calls
    // after something came in only yield.
    void wait();

  private:
    const WindowTable& windows_;
    uint32_t rank_;
    uint32_t seen_ = 0;  // wake-up word before the last fruitless round
    uint32_t fruitless_ = 0;
    std::vector<uint8_t> is_dirty_;
    std::vector<uint32_t> dirty_;
};

}  // namespace ascend_deepep::twin
