// SPDX-License-Identifier: Apache-2.0
// Windows of the host twin: one sparse memfd a rank, every rank's mapped by all. Layer: twin/fabric.
// A file holds the window and, behind it, one page of the twin's own: the wake-up word and the owner's state. The file
// has no name, so nothing of it survives its processes, and the size of /dev/shm does not matter.
#pragma once

#include <cstddef>
#include <cstdint>

#include "twin/fabric/system_error.h"

namespace ascend_deepep::twin {

enum class OwnerState : uint32_t { kLive = 1, kClosed = 2, kFailed = 3 };

// Behind the window. Words that different processes write lie in different lines.
struct SharedPage {
    alignas(64) uint32_t wake_word;  // bumped by peers after they wrote into the window
    alignas(64) uint32_t sleepers;   // 1 while the owner sleeps on wake_word
    alignas(64) uint32_t state;      // OwnerState
};

constexpr uint64_t kSharedPageBytes = 4096;
static_assert(sizeof(SharedPage) <= kSharedPageBytes, "one page");

// A memfd for a window of `window_bytes`, sealed against resizing: a peer can trust its size for as long as it lives.
FileDescriptor create_window_file(uint64_t window_bytes);

// Throws unless `fd` is such a file.
void check_window_file(int fd, uint64_t window_bytes, uint32_t rank);

// All windows in one reserved stretch of addresses: one subtraction tells whether an address is in a window.
class WindowTable {
  public:
    WindowTable(uint32_t num_ranks, uint64_t window_bytes);
    ~WindowTable();
    WindowTable(const WindowTable&) = delete;
    WindowTable& operator=(const WindowTable&) = delete;

    void map(uint32_t rank, int fd);

    uint8_t* window(uint32_t rank) const { return base_ + rank * stride_; }
    SharedPage& shared(uint32_t rank) const { return *reinterpret_cast<SharedPage*>(window(rank) + window_bytes_); }
    uint64_t window_bytes() const { return window_bytes_; }
    uint64_t reserved_bytes() const { return reserved_bytes_; }  // from window(0) on, all windows
    uint32_t num_ranks() const { return num_ranks_; }

    bool contains(const void* p) const { return distance(p) < reserved_bytes_; }
    // Of an address that the table contains.
    uint32_t rank_of(const void* p) const { return static_cast<uint32_t>(distance(p) / stride_); }
    uint64_t offset_of(const void* p) const { return distance(p) % stride_; }

  private:
    uint64_t distance(const void* p) const {
        return reinterpret_cast<uintptr_t>(p) - reinterpret_cast<uintptr_t>(base_);
    }

    uint8_t* reserved_ = nullptr;
    uint8_t* base_ = nullptr;
    uint64_t stride_;
    uint64_t reserved_bytes_;
    uint64_t window_bytes_;
    uint32_t num_ranks_;
};

// Anonymous zeroed memory: rings, tables, workspace. Reserved at once, paid for page by page when touched.
class Memory {
  public:
    explicit Memory(uint64_t bytes);
    ~Memory();
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;

    // The next `bytes` at a multiple of `alignment` (a power of two up to a page).
    uint8_t* take(uint64_t bytes, uint64_t alignment);
    uint8_t* data() const { return data_; }
    uint64_t bytes() const { return bytes_; }

  private:
    uint8_t* data_;
    uint64_t bytes_;
    uint64_t used_ = 0;
};

}  // namespace ascend_deepep::twin
