// SPDX-License-Identifier: Apache-2.0
// Creating, checking and mapping window files. Layer: twin/fabric.
#include "twin/fabric/window.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "contract/block.h"
#include "twin/fabric/huge_pages.h"

namespace ascend_deepep::twin {
namespace {

constexpr uint64_t kGuardBytes = 65536;  // never mapped: a write past a window stops at once
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

std::string megabytes(uint64_t bytes) {
    return std::to_string(bytes >> 20) + " MiB";
}

}  // namespace

void FileDescriptor::reset(int fd) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = fd;
}

FileDescriptor create_window_file(uint64_t window_bytes) {
    FileDescriptor file(::memfd_create("ascend_deepep_window", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!file.valid()) raise_system_error("memfd_create for a window failed", "the twin needs Linux 3.17 or newer");
    if (::ftruncate(file.get(), static_cast<off_t>(window_bytes + kSharedPageBytes)) != 0) {
        raise_system_error("a window of " + megabytes(window_bytes) + " could not be sized",
                           "a file size limit (ulimit -f) may be in force");
    }
    if (::fcntl(file.get(), F_ADD_SEALS, kSeals) != 0) raise_system_error("sealing the size of a window failed");
    return file;
}

void check_window_file(int fd, uint64_t window_bytes, uint32_t rank) {
    struct stat info{};
    const std::string owner = "the window of rank " + std::to_string(rank);
    if (::fstat(fd, &info) != 0) raise_system_error("reading the size of " + owner + " failed");
    if (static_cast<uint64_t>(info.st_size) != window_bytes + kSharedPageBytes) {
        throw FabricSetupError(owner + " has " + std::to_string(info.st_size) + " bytes, expected " +
                               std::to_string(window_bytes + kSharedPageBytes));
    }
    const int seals = ::fcntl(fd, F_GET_SEALS);
    if (seals < 0 || (seals & kSeals) != kSeals) throw FabricSetupError(owner + " is not sealed against resizing");
}

WindowTable::WindowTable(uint32_t num_ranks, uint64_t window_bytes)
    : stride_(align_up(window_bytes + kSharedPageBytes + kGuardBytes, kHugePageBytes)),
      reserved_bytes_(stride_ * num_ranks),
      window_bytes_(window_bytes),
      num_ranks_(num_ranks) {
    // One huge page more than needed: windows begin at the multiple of its size in it.
    void* base = ::mmap(nullptr, reserved_bytes_ + kHugePageBytes, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) {
        raise_system_error("reserving addresses for " + std::to_string(num_ranks) + " windows of " +
                               megabytes(window_bytes) + " failed",
                           "an address space limit (ulimit -v) may be in force");
    }
    reserved_ = static_cast<uint8_t*>(base);
    base_ = reinterpret_cast<uint8_t*>(align_up(reinterpret_cast<uint64_t>(base), kHugePageBytes));
}

WindowTable::~WindowTable() {
    ::munmap(reserved_, reserved_bytes_ + kHugePageBytes);
}

void WindowTable::map(uint32_t rank, int fd) {
    void* got =
        ::mmap(window(rank), window_bytes_ + kSharedPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
    if (got == MAP_FAILED) raise_system_error("mapping the window of rank " + std::to_string(rank) + " failed");
}

Memory::Memory(uint64_t bytes) : bytes_(bytes) {
    void* data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (data == MAP_FAILED) raise_system_error("reserving " + megabytes(bytes) + " for rings and workspace failed");
    data_ = static_cast<uint8_t*>(data);
}

Memory::~Memory() {
    ::munmap(data_, bytes_);
}

uint8_t* Memory::take(uint64_t bytes, uint64_t alignment) {
    const uint64_t at = align_up(used_, alignment);
    if (at + bytes > bytes_) throw std::logic_error("Memory::take past the end: its size was computed too small");
    used_ = at + bytes;
    return data_ + at;
}

}  // namespace ascend_deepep::twin
