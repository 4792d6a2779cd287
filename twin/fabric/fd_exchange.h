// SPDX-License-Identifier: Apache-2.0
// Passing one file descriptor from every rank to every other over an abstract Unix datagram socket. Layer: twin/fabric.
// Such a socket has no file, so a killed process leaves nothing behind. The kernel vouches for the sender's process and
// user; the meeting number says that the descriptor belongs to this rendezvous.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "twin/fabric/system_error.h"

namespace ascend_deepep::twin {

struct ExchangePeer {
    std::string socket_name;
    int32_t pid;
};

class FdExchange {
  public:
    // `nonce` makes the name unique within the process.
    explicit FdExchange(uint64_t nonce);

    const std::string& socket_name() const { return name_; }

    // Sends `fd` to every peer and returns theirs, by rank; the own entry stays empty. Throws FabricSetupError naming
    // the ranks that were not heard within the time-out.
    std::vector<FileDescriptor> run(uint32_t rank, int fd, const std::vector<ExchangePeer>& peers, uint64_t meeting,
                                    uint32_t timeout_ms);

  private:
    bool send_to(const ExchangePeer& peer, uint32_t rank, int fd, uint64_t meeting);
    bool receive(const std::vector<ExchangePeer>& peers, uint64_t meeting, std::vector<FileDescriptor>* received);

    FileDescriptor socket_;
    std::string name_;
};

}  // namespace ascend_deepep::twin
