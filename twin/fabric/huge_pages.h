// SPDX-License-Identifier: Apache-2.0
// Huge pages for the parts of a window that are in use. Layer: twin/fabric.
// A window is as large as the communicator's limits, and only what calls touch of it takes memory. Its file gets small
// pages (most systems have huge pages for shared memory switched off), and reading it costs a fifth more time than it
// must. So now and then the owner asks the kernel to turn extents that are all there into one huge page each.
#pragma once

#include <cstdint>
#include <vector>

namespace ascend_deepep::twin {

constexpr uint64_t kHugePageBytes = uint64_t{2} << 20;

class HugePages {
  public:
    // Of a mapping that begins at a multiple of kHugePageBytes.
    HugePages(uint8_t* begin, uint64_t bytes);

    // An operation has ended that moved many bytes. Looks after operations 2, 4, 8, ...: what is in use is soon known,
    // and a look at a large window takes a while.
    void after_operation();

    uint64_t num_collapsed() const { return num_collapsed_; }

  private:
    void collapse_extents();
    bool is_in_use(uint8_t* extent);

    uint8_t* begin_;
    std::vector<bool> is_done_;  // by extent
    std::vector<uint8_t> is_resident_;
    uint64_t operations_ = 0;
    uint64_t num_collapsed_ = 0;
    bool is_refused_ = false;  // by the kernel: it has no such call
};

}  // namespace ascend_deepep::twin
