// SPDX-License-Identifier: Apache-2.0
// Finding extents in use and collapsing them. Layer: twin/fabric.
#include "twin/fabric/huge_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace ascend_deepep::twin {
namespace {

constexpr int kMadvCollapse = 25;  // MADV_COLLAPSE, Linux 6.1; older C libraries do not name it
constexpr uint64_t kMostLooks = uint64_t{1} << 16;

uint64_t small_page_bytes() {
    static const auto bytes = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
    return bytes;
}

}  // namespace

HugePages::HugePages(uint8_t* begin, uint64_t bytes)
    : begin_(begin), is_done_(bytes / kHugePageBytes, false), is_resident_(kHugePageBytes / small_page_bytes()) {}

void HugePages::after_operation() {
    if (is_refused_ || operations_ >= kMostLooks) return;
    ++operations_;
    const bool is_power_of_two = (operations_ & (operations_ - 1)) == 0;
    if (operations_ > 1 && is_power_of_two) collapse_extents();
}

// Nearly all of its pages are there: rows of the own rank may leave holes, and a huge page fills them.
bool HugePages::is_in_use(uint8_t* extent) {
    if (::mincore(extent, kHugePageBytes, is_resident_.data()) != 0) return false;
    const auto resident =
        std::count_if(is_resident_.begin(), is_resident_.end(), [](uint8_t p) { return (p & 1) != 0; });
    return static_cast<uint64_t>(resident) * 8 >= is_resident_.size() * 7;
}

void HugePages::collapse_extents() {
    for (uint64_t i = 0; i < is_done_.size(); ++i) {
        uint8_t* extent = begin_ + i * kHugePageBytes;
        if (is_done_[i] || !is_in_use(extent)) continue;
        if (::madvise(extent, kHugePageBytes, kMadvCollapse) == 0) {
            is_done_[i] = true;
            ++num_collapsed_;
        } else if (errno == EINVAL) {
            is_refused_ = true;
            return;
        }
        // Else there is no free huge page, or a peer was writing: the next look tries again.
    }
}

}  // namespace ascend_deepep::twin
