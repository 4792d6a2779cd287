// SPDX-License-Identifier: Apache-2.0
//
// The registry and the locks of a process. Layer: framework.
// A child that was forked inherits both: entries carry the process they belong to, and fork leaves the locks open.
#include "framework/runtime/process.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <new>

#include "framework/runtime/status_payload.h"

namespace ascend_deepep {
namespace {

struct Entry {
    pid_t pid;
    std::weak_ptr<Communicator> communicator;  // expired until published
};

struct Process {
    std::mutex registry_mutex;
    std::map<std::string, Entry> registry;
    std::mutex launch_mutex;
};

Process& process() {
    static Process* instance = [] {
        auto* made = new Process;  // lives as long as the process: communicators may outlive static destructors
        ::pthread_atfork([] { process().registry_mutex.lock(); }, [] { process().registry_mutex.unlock(); },
                         [] {
                             process().registry_mutex.unlock();
                             new (&process().launch_mutex) std::mutex;
                         });
        return made;
    }();
    return *instance;
}

std::atomic<bool (*)()> interrupt_check{nullptr};

std::string known_names() {
    std::string text;
    for (const std::string& name : communicator_names())
        text += (text.empty() ? "'" : ", '") + name + "'";
    return text.empty() ? "none" : text;
}

}  // namespace

std::mutex& launch_mutex() {
    return process().launch_mutex;
}

void set_interrupt_check(bool (*check)()) {
    interrupt_check.store(check);
}

bool interrupt_pending() {
    bool (*check)() = interrupt_check.load();
    return check != nullptr && check();
}

NameReservation::NameReservation(const std::string& name, uint32_t rank) : name_(name) {
    if (name.empty() || name.size() > kMaxNameLength) {
        throw CommunicatorError{own_refusal(rank, Code::kOutOfRange, Field::kGroupEp, static_cast<int64_t>(name.size()),
                                            kMaxNameLength,
                                            "the name of a communicator has 1 to " + std::to_string(kMaxNameLength) +
                                                " bytes, this one has " + std::to_string(name.size()))};
    }
    const std::lock_guard<std::mutex> lock(process().registry_mutex);
    const auto found = process().registry.find(name);
    if (found != process().registry.end() && found->second.pid == ::getpid()) {
        throw CommunicatorError{own_refusal(
            rank, Code::kNotEqual, Field::kGroupEp, 0, 0,
            "a communicator named '" + name + "' exists in this process: close() it first, or pass another name")};
    }
    process().registry[name] = Entry{::getpid(), {}};
}

NameReservation::~NameReservation() {
    const std::lock_guard<std::mutex> lock(process().registry_mutex);
    const auto found = process().registry.find(name_);
    if (found != process().registry.end() && found->second.pid == ::getpid()) process().registry.erase(found);
}

void NameReservation::publish(const std::shared_ptr<Communicator>& communicator) {
    const std::lock_guard<std::mutex> lock(process().registry_mutex);
    process().registry[name_].communicator = communicator;
}

std::shared_ptr<Communicator> find_communicator(const std::string& name) {
    {
        const std::lock_guard<std::mutex> lock(process().registry_mutex);
        const auto found = process().registry.find(name);
        if (found != process().registry.end()) {
            if (std::shared_ptr<Communicator> communicator = found->second.communicator.lock()) return communicator;
        }
    }
    throw CommunicatorError{
        own_refusal(0, Code::kNotEqual, Field::kGroupEp, 0, 0,
                    "group_ep '" + name + "' names no communicator of this process (known: " + known_names() +
                        "); make one on all ranks with ascend_deepep.Communicator(group, max_tokens=..., hidden=..., "
                        "num_topk=..., num_experts=..., name='" +
                        name + "')")};
}

std::vector<std::string> communicator_names() {
    const std::lock_guard<std::mutex> lock(process().registry_mutex);
    std::vector<std::string> names;
    for (const auto& [name, entry] : process().registry) {
        if (!entry.communicator.expired()) names.push_back(name);
    }
    return names;
}

}  // namespace ascend_deepep
