// SPDX-License-Identifier: Apache-2.0
// Finding untouched extents and making each a huge page. Layer: twin/fabric.
#include "twin/fabric/huge_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace ascend_deepep::twin {
namespace {

// Older C libraries do not name them.
constexpr int kPopulateWrite = 23;  // MADV_POPULATE_WRITE, Linux 5.14
constexpr int kCollapse = 25;       // MADV_COLLAPSE, Linux 6.1

uint64_t small_page_bytes() {
    static const auto bytes = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
    return bytes;
}

}  // namespace

HugePages::HugePages(uint8_t* begin, uint64_t bytes)
    : begin_(begin), is_tried_(bytes / kHugePageBytes, false), is_resident_(kHugePageBytes / small_page_bytes()) {}

void HugePages::prepare(const Region& range) {
    const uint64_t last = std::min<uint64_t>((range.offset + range.bytes) / kHugePageBytes, is_tried_.size());
    for (uint64_t i = align_up(range.offset, kHugePageBytes) / kHugePageBytes; i < last && !is_refused_; ++i) {
        if (is_tried_[i]) continue;
        is_tried_[i] = true;
        uint8_t* extent = begin_ + i * kHugePageBytes;
        if (is_untouched(extent)) prepare_extent(extent);
    }
}

bool HugePages::is_untouched(uint8_t* extent) {
    if (::mincore(extent, kHugePageBytes, is_resident_.data()) != 0) return false;
    return std::none_of(is_resident_.begin(), is_resident_.end(), [](uint8_t page) { return (page & 1) != 0; });
}

// An extent without a page cannot be collapsed, so it gets one, without a byte being written: a peer may be putting its
// blocks here by now.
void HugePages::prepare_extent(uint8_t* extent) {
    if (::madvise(extent, small_page_bytes(), kPopulateWrite) == 0 &&
        ::madvise(extent, kHugePageBytes, kCollapse) == 0) {
        ++num_prepared_;
    } else if (errno == EINVAL) {
        is_refused_ = true;
    }
    // Else there is no free huge page: small ones come as they are touched.
}

}  // namespace ascend_deepep::twin
