// SPDX-License-Identifier: Apache-2.0
//
// Choosing the target of a new communicator. Layer: framework.
#include "framework/runtime/targets.h"

#include <map>
#include <mutex>

#include "framework/runtime/rendezvous.h"

namespace ascend_deepep {
namespace {

struct Targets {
    std::mutex mutex;
    std::map<std::string, TargetFactory> factories{{op_host::kTwinTarget, &create_twin}};
};

Targets& targets() {
    static auto* instance = new Targets;  // libraries register and communicators are made until the process ends
    return *instance;
}

TargetFactory find_factory(const std::string& name) {
    Targets& all = targets();
    const std::lock_guard<std::mutex> lock(all.mutex);
    const auto found = all.factories.find(name);
    return found == all.factories.end() ? nullptr : found->second;
}

// The other ranks learn of it in the exchange that they are about to enter.
[[noreturn]] void refuse_target(const CommunicatorOptions& options, const AllGather& all_gather) {
    std::string known;
    for (const std::string& name : target_names())
        known += (known.empty() ? "'" : ", '") + name + "'";
    const op_host::Status reason =
        own_refusal(options.rank, Code::kOutOfRange, Field::kNone, 0, 0,
                    "target '" + options.target + "' is not available in this process (available: " + known +
                        "): build and load the library of that device, or pass another target");
    Handshake handshake{};
    fill_handshake(options, false, &handshake);
    set_reason(&handshake, reason);
    exchange_handshakes(handshake, options, all_gather);
    throw CommunicatorError{reason};
}

}  // namespace

void register_target(const std::string& name, TargetFactory factory) {
    Targets& all = targets();
    const std::lock_guard<std::mutex> lock(all.mutex);
    all.factories[name] = std::move(factory);
}

std::vector<std::string> target_names() {
    Targets& all = targets();
    const std::lock_guard<std::mutex> lock(all.mutex);
    std::vector<std::string> names;
    for (const auto& [name, factory] : all.factories)
        names.push_back(name);
    return names;
}

std::shared_ptr<Communicator> Communicator::create(const CommunicatorOptions& options, const AllGather& all_gather) {
    CommunicatorOptions chosen = options;
    if (chosen.target.empty()) chosen.target = op_host::kTwinTarget;
    const TargetFactory factory = find_factory(chosen.target);
    if (!factory) refuse_target(chosen, all_gather);
    return factory(chosen, all_gather);
}

}  // namespace ascend_deepep
