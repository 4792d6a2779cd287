// SPDX-License-Identifier: Apache-2.0
// Which event a fault strikes. Layer: twin/fabric; what it does there is in fabric.cpp.
#include "twin/fabric/fault.h"

#include <array>
#include <utility>

namespace ascend_deepep::twin {
namespace {

constexpr std::array<std::pair<std::string_view, FaultKind>, 7> kNames = {{{"drop-wqe", FaultKind::kDropWqe},
                                                                           {"flip-bit", FaultKind::kFlipBit},
                                                                           {"stale-flag", FaultKind::kStaleFlag},
                                                                           {"drop-control", FaultKind::kDropControl},
                                                                           {"swap-slots", FaultKind::kSwapSlots},
                                                                           {"late-flag", FaultKind::kLateFlag},
                                                                           {"bad-cqe", FaultKind::kBadCqe}}};

uint64_t splitmix64(uint64_t* state) {
    uint64_t z = (*state += 0x9E3779B97F4A7C15ULL);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
}

}  // namespace

FaultKind fault_from_name(std::string_view name) {
    for (const auto& [text, kind] : kNames) {
        if (text == name) return kind;
    }
    return FaultKind::kNone;
}

std::vector<std::string> fault_names() {
    std::vector<std::string> names;
    for (const auto& entry : kNames)
        names.emplace_back(entry.first);
    return names;
}

uint64_t fault_event(uint64_t seed, uint64_t events) {
    return splitmix64(&seed) % events;
}

void FaultInjector::arm(FaultKind kind, uint64_t seed, uint64_t event) {
    kind_ = kind;
    fired_ = false;
    state_ = seed;
    countdown_ = event;
}

uint64_t FaultInjector::draw(uint64_t limit) {
    return splitmix64(&state_) % limit;
}

bool FaultInjector::is_turn() {
    if (fired_ || countdown_-- != 0) return false;
    fired_ = true;
    return true;
}

FaultKind FaultInjector::strike_copy() {
    if (kind_ == FaultKind::kNone || kind_ == FaultKind::kDropControl || !is_turn()) return FaultKind::kNone;
    return kind_;
}

bool FaultInjector::strike_control() {
    return kind_ == FaultKind::kDropControl && is_turn();
}

}  // namespace ascend_deepep::twin
