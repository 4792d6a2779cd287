// SPDX-License-Identifier: Apache-2.0
// The copies of every instruction set that this CPU has: exactly the bytes asked for, whatever the alignment; and huge
// pages for what is in use of a window. Layer: tests.
#include "twin/runtime/copy_kernels.h"

#include <sys/mman.h>

#include <cstring>
#include <string>
#include <vector>

#include "check.h"
#include "contract/block.h"
#include "twin/fabric/huge_pages.h"
#include "twin/fabric/window.h"

namespace {

using namespace ascend_deepep;
using namespace ascend_deepep::twin;

constexpr uint8_t kUntouched = 0xC3;

// Every set of this CPU; the baseline at least.
std::vector<const CopyKernels*> all_kernels() {
    std::vector<const CopyKernels*> all;
    for (const char* isa : {"baseline", "x86_64_v3", "x86_64_v4"}) {
        if (const CopyKernels* kernels = copy_kernels_of(isa)) all.push_back(kernels);
    }
    return all;
}

std::vector<uint8_t> pattern(size_t bytes) {
    std::vector<uint8_t> data(bytes);
    for (size_t i = 0; i < bytes; ++i)
        data[i] = static_cast<uint8_t>(i * 131 + i / 251 + 7);
    return data;
}

// `bytes` at `at` are those of `source`, everything else is untouched.
void check_range(const std::vector<uint8_t>& memory, size_t at, const uint8_t* source, size_t bytes,
                 const std::string& what) {
    for (size_t i = 0; i < memory.size(); ++i) {
        const bool is_inside = i >= at && i < at + bytes;
        if (memory[i] == (is_inside ? source[i - at] : kUntouched)) continue;
        check::fail(__FILE__, __LINE__, what + ": byte " + std::to_string(i));
        return;
    }
}

TEST(the_chosen_copies_are_the_newest_that_this_cpu_has) {
    CHECK_EQ(std::string(copy_kernels().isa), std::string(all_kernels().back()->isa));
    CHECK(copy_kernels_of("no such set") == nullptr);
}

TEST(a_streamed_copy_writes_exactly_its_bytes) {
    const std::vector<uint8_t> source = pattern(4096);
    for (const CopyKernels* kernels : all_kernels()) {
        for (const size_t offset : {0, 1, 15, 16, 31, 32, 63}) {
            for (const size_t bytes : {0, 1, 17, 63, 64, 65, 127, 128, 500, 2048, 3001}) {
                std::vector<uint8_t> memory(4096, kUntouched);
                kernels->stream(memory.data() + offset, source.data() + 3, bytes);
                check_range(
                    memory, offset, source.data() + 3, bytes,
                    std::string(kernels->isa) + ", " + std::to_string(bytes) + " B at " + std::to_string(offset));
            }
        }
    }
}

TEST(blocks_are_copied_whole_by_every_set) {
    alignas(kBlockBytes) static uint8_t window[10 * kBlockBytes];
    const std::vector<uint8_t> source = pattern(9 * kBlockBytes);
    for (const CopyKernels* kernels : all_kernels()) {
        for (const auto write : {kernels->write_blocks, kernels->stream_blocks}) {
            for (const size_t count : {0, 1, 2, 9}) {
                std::memset(window, kUntouched, sizeof(window));
                write(window, source.data(), count);
                const std::vector<uint8_t> got(window, window + sizeof(window));
                check_range(got, 0, source.data(), count * kBlockBytes, kernels->isa);
            }
        }
    }
}

TEST(pieces_are_read_exactly_by_every_set) {
    const std::vector<uint8_t> source = pattern(16 * kBlockBytes);
    for (const CopyKernels* kernels : all_kernels()) {
        for (const uint32_t bytes : {1U, 32U, 100U, 480U}) {
            std::vector<uint8_t> memory(16 * kBlockBytes, kUntouched);
            kernels->read_pieces({memory.data() + 1, source.data() + 2, bytes, kBlockBytes, 15, bytes});
            std::vector<uint8_t> want;
            for (uint32_t piece = 0; piece < 15; ++piece) {
                const uint8_t* from = source.data() + 2 + piece * kBlockBytes;
                want.insert(want.end(), from, from + bytes);
            }
            check_range(memory, 1, want.data(), want.size(), std::string(kernels->isa) + ", pieces");
        }
    }
}

TEST(only_untouched_extents_of_the_range_become_huge_pages) {
    constexpr uint64_t kWindowBytes = 6 * kHugePageBytes;
    const FileDescriptor file = create_window_file(kWindowBytes);
    WindowTable table(1, kWindowBytes);
    table.map(0, file.get());
    CHECK_EQ(reinterpret_cast<uint64_t>(table.window(0)) % kHugePageBytes, 0U);
    uint8_t* window = table.window(0);
    std::memset(window + 2 * kHugePageBytes, 0x5A, 4096);  // has a page already
    HugePages pages(window, kWindowBytes);
    // Extents 1 to 4 as a whole; 0 and 5 in part.
    const Region range{kHugePageBytes / 2, 5 * kHugePageBytes};
    pages.prepare(range);
    pages.prepare(range);
    CHECK(pages.num_prepared() == 3 || pages.num_prepared() == 0);  // 0: this kernel has no such call
    for (uint64_t i = 0; i < kWindowBytes; i += 64) {
        const bool is_written = i >= 2 * kHugePageBytes && i < 2 * kHugePageBytes + 4096;
        if (window[i] != (is_written ? 0x5A : 0)) return check::fail(__FILE__, __LINE__, "a byte changed");
    }
}

TEST(what_no_call_uses_takes_no_memory) {
    constexpr uint64_t kWindowBytes = 4 * kHugePageBytes;
    const FileDescriptor file = create_window_file(kWindowBytes);
    WindowTable table(1, kWindowBytes);
    table.map(0, file.get());
    HugePages pages(table.window(0), kWindowBytes);
    pages.prepare(Region{kHugePageBytes, kHugePageBytes});
    unsigned char resident[1];
    for (const uint64_t extent : {0, 2, 3}) {
        CHECK_EQ(::mincore(table.window(0) + extent * kHugePageBytes, 4096, resident), 0);
        CHECK_EQ(resident[0] & 1, 0);
    }
}

}  // namespace
