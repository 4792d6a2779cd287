// SPDX-License-Identifier: Apache-2.0
// Reading /proc and the cgroup files. Layer: twin/fabric.
#include "twin/fabric/host.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <limits>
#include <sstream>

#include "twin/fabric/system_error.h"

namespace ascend_deepep::twin {
namespace {

constexpr uint64_t kUnlimited = std::numeric_limits<uint64_t>::max();

uint64_t namespace_number(const char* path) {
    struct stat info{};
    return ::stat(path, &info) == 0 ? static_cast<uint64_t>(info.st_ino) : 0;
}

// The number in a file of one number. "max", no file and what is no number: `otherwise`.
uint64_t read_number(const std::string& path, uint64_t otherwise) {
    std::ifstream file(path);
    uint64_t value;
    return file >> value ? value : otherwise;
}

// The number behind `key` in a file of "key value" lines.
uint64_t read_field(const std::string& path, const std::string& key) {
    std::ifstream file(path);
    std::string name;
    uint64_t value;
    std::string rest;
    while (file >> name >> value && std::getline(file, rest)) {
        if (name == key) return value;
    }
    return 0;
}

struct CgroupFiles {
    const char *limit, *usage, *active, *inactive;
};
constexpr CgroupFiles kV1 = {"/memory.limit_in_bytes", "/memory.usage_in_bytes", "total_active_file",
                             "total_inactive_file"};
constexpr CgroupFiles kV2 = {"/memory.max", "/memory.current", "active_file", "inactive_file"};

// What the limits of the cgroup `path` below `mount` and of all its parents leave.
void take_cgroup(const std::string& mount, std::string path, const CgroupFiles& files, FreeMemory* least) {
    for (;;) {
        const std::string group = mount + path;
        const uint64_t limit = read_number(group + files.limit, kUnlimited);
        if (limit != kUnlimited) {
            const uint64_t cache =
                read_field(group + "/memory.stat", files.active) + read_field(group + "/memory.stat", files.inactive);
            const uint64_t usage = read_number(group + files.usage, 0);
            const uint64_t used = usage - std::min(usage, cache);
            const uint64_t left = limit - std::min(limit, used);
            if (left < least->bytes) *least = {left, "the memory limit of cgroup " + (path.empty() ? "/" : path)};
        }
        if (path.empty()) return;
        path.resize(path.find_last_of('/'));
    }
}

}  // namespace

HostIdentity host_identity() {
    HostIdentity identity{};
    std::ifstream boot("/proc/sys/kernel/random/boot_id");
    std::string id;
    std::getline(boot, id);
    std::memcpy(identity.boot_id, id.data(), std::min(id.size(), sizeof(identity.boot_id) - 1));
    if (::gethostname(identity.hostname, sizeof(identity.hostname) - 1) != 0) raise_system_error("gethostname failed");
    identity.pid_namespace = namespace_number("/proc/self/ns/pid");
    identity.net_namespace = namespace_number("/proc/self/ns/net");
    return identity;
}

std::string host_difference(const HostIdentity& own, const HostIdentity& other) {
    if (std::strncmp(own.boot_id, other.boot_id, sizeof(own.boot_id)) != 0 ||
        std::strncmp(own.hostname, other.hostname, sizeof(own.hostname)) != 0) {
        return std::string("host ") + other.hostname + ", not " + own.hostname;
    }
    if (own.pid_namespace != other.pid_namespace) return "another PID namespace (container) of this host";
    if (own.net_namespace != other.net_namespace) return "another network namespace (container) of this host";
    return "";
}

FreeMemory free_memory_below(const std::string& root) {
    FreeMemory least{kUnlimited, "unknown"};
    std::ifstream meminfo(root + "/proc/meminfo");
    std::string line;
    while (std::getline(meminfo, line)) {
        std::istringstream words(line);
        std::string key;
        uint64_t kib;
        if (words >> key >> kib && key == "MemAvailable:") least = {kib * 1024, "MemAvailable"};
    }
    std::ifstream groups(root + "/proc/self/cgroup");
    while (std::getline(groups, line)) {  // "4:memory:/path" (v1) or "0::/path" (v2)
        const size_t first = line.find(':'), second = line.find(':', first + 1);
        if (first == std::string::npos || second == std::string::npos) continue;
        const std::string controllers = line.substr(first + 1, second - first - 1);
        std::string path = line.substr(second + 1);
        if (path == "/") path.clear();
        if (controllers.empty()) take_cgroup(root + "/sys/fs/cgroup", path, kV2, &least);
        if (("," + controllers + ",").find(",memory,") != std::string::npos) {
            take_cgroup(root + "/sys/fs/cgroup/memory", path, kV1, &least);
        }
    }
    return least;
}

FreeMemory free_memory() {
    return free_memory_below("");
}

}  // namespace ascend_deepep::twin
