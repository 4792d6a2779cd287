// SPDX-License-Identifier: Apache-2.0
// Huge pages for the parts of a window that a call is going to use. Layer: twin/fabric.
// A window is as large as the communicator's limits, and only what calls touch of it takes memory, a small page at a
// time: most systems have huge pages for shared memory switched off. Before a large call the owner asks the kernel for
// one huge page in place of 512 small ones where nothing has been touched yet. That takes a tenth of the time of the
// page faults that it spares, and what reads and writes the window later misses the translation cache less often.
#pragma once

#include <cstdint>
#include <vector>

#include "contract/window_layout.h"

namespace ascend_deepep::twin {

constexpr uint64_t kHugePageBytes = uint64_t{2} << 20;

class HugePages {
  public:
    // Of a mapping that begins at a multiple of kHugePageBytes.
    HugePages(uint8_t* begin, uint64_t bytes);

    // For the extents that lie in `range` as a whole. An extent is tried once.
    void prepare(const Region& range);

    uint64_t num_prepared() const { return num_prepared_; }

  private:
    bool is_untouched(uint8_t* extent);
    void prepare_extent(uint8_t* extent);

    uint8_t* begin_;
    std::vector<bool> is_tried_;  // by extent
    std::vector<uint8_t> is_resident_;
    uint64_t num_prepared_ = 0;
    bool is_refused_ = false;  // by the kernel: it has no such calls
};

}  // namespace ascend_deepep::twin
