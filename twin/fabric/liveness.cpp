// SPDX-License-Identifier: Apache-2.0
// pidfds and their poll. Layer: twin/fabric.
#include "twin/fabric/liveness.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace ascend_deepep::twin {

Liveness::Liveness(const std::vector<int32_t>& pids) {
    for (size_t rank = 0; rank < pids.size(); ++rank) {
        pidfds_.emplace_back(static_cast<int>(::syscall(SYS_pidfd_open, pids[rank], 0)));
        if (!pidfds_.back().valid()) {
            raise_system_error("watching the process of rank " + std::to_string(rank) + " (pid " +
                                   std::to_string(pids[rank]) + ") failed",
                               "the twin needs Linux 5.3 or newer");
        }
    }
}

std::vector<uint32_t> Liveness::gone() const {
    std::vector<pollfd> polls;
    polls.reserve(pidfds_.size());
    for (const FileDescriptor& pidfd : pidfds_)
        polls.push_back({pidfd.get(), POLLIN, 0});
    std::vector<uint32_t> ranks;
    if (::poll(polls.data(), polls.size(), 0) <= 0) return ranks;
    for (uint32_t rank = 0; rank < polls.size(); ++rank) {
        if (polls[rank].revents != 0) ranks.push_back(rank);
    }
    return ranks;
}

}  // namespace ascend_deepep::twin
