// SPDX-License-Identifier: Apache-2.0
//
// What the communicators of a process share: the registry of names, the one launch at a time, the interrupt check.
// Layer: framework.
#ifndef ASCEND_DEEPEP_FRAMEWORK_RUNTIME_PROCESS_H
#define ASCEND_DEEPEP_FRAMEWORK_RUNTIME_PROCESS_H

#include <memory>
#include <mutex>
#include <string>

#include "framework/runtime/communicator.h"

namespace ascend_deepep {

// Held during a launch: the twin's cores and queues serve one operation of the process at a time. Usable in a child
// after fork even when a thread of the parent was in a launch.
std::mutex& launch_mutex();

bool interrupt_pending();

// A name from the start of a rendezvous to the end of its communicator. Given up on destruction.
class NameReservation {
  public:
    // Throws CommunicatorError when the name is empty, too long or in use in this process.
    NameReservation(const std::string& name, uint32_t rank);
    ~NameReservation();
    NameReservation(const NameReservation&) = delete;
    NameReservation& operator=(const NameReservation&) = delete;

    // From now on find_communicator() finds it.
    void publish(const std::shared_ptr<Communicator>& communicator);

  private:
    std::string name_;
};

}  // namespace ascend_deepep

#endif  // ASCEND_DEEPEP_FRAMEWORK_RUNTIME_PROCESS_H
