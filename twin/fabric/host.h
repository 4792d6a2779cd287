// SPDX-License-Identifier: Apache-2.0
// What the twin asks of the host: is it the same for two ranks, and how much memory can still be used. Layer:
// twin/fabric.
#pragma once

#include <cstdint>
#include <string>

namespace ascend_deepep::twin {

// Ranks can share windows when all of these are equal.
struct HostIdentity {
    char boot_id[40];  // of the running kernel
    char hostname[64];
    uint64_t pid_namespace;
    uint64_t net_namespace;  // abstract socket names live in it
};

HostIdentity host_identity();

// What keeps the two from sharing windows ("other host: node7", "other PID namespace"); empty: nothing.
std::string host_difference(const HostIdentity& own, const HostIdentity& other);

struct FreeMemory {
    uint64_t bytes;
    std::string source;  // "MemAvailable" or the cgroup whose limit is nearer
};

// The smaller of the machine's available memory and what the limits of this process's cgroups (v1 and v2) leave,
// counting page cache of files as free.
FreeMemory free_memory();

// As free_memory(), from files below `root`: for tests.
FreeMemory free_memory_below(const std::string& root);

}  // namespace ascend_deepep::twin
