// SPDX-License-Identifier: Apache-2.0
// A system call that failed while the fabric was set up: which one, why, what to do. Layer: twin/fabric.
#pragma once

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

namespace ascend_deepep::twin {

class FabricSetupError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

[[noreturn]] inline void raise_system_error(const std::string& what, const std::string& advice = "") {
    const int error = errno;
    throw FabricSetupError(what + ": " + std::strerror(error) + (advice.empty() ? "" : "; " + advice));
}

// Owns one file descriptor.
class FileDescriptor {
  public:
    FileDescriptor() = default;
    explicit FileDescriptor(int fd) : fd_(fd) {}
    FileDescriptor(FileDescriptor&& other) noexcept : fd_(other.release()) {}
    FileDescriptor& operator=(FileDescriptor&& other) noexcept {
        reset(other.release());
        return *this;
    }
    ~FileDescriptor() { reset(); }

    int get() const { return fd_; }
    bool valid() const { return fd_ >= 0; }
    int release() {
        const int fd = fd_;
        fd_ = -1;
        return fd;
    }
    void reset(int fd = -1);

  private:
    int fd_ = -1;
};

}  // namespace ascend_deepep::twin
