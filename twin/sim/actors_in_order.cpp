// SPDX-License-Identifier: Apache-2.0
// Turns under a fixed order: first come, first served, but for what a search puts off. Layer: twin/sim.
#include <algorithm>

#include "twin/sim/actors.h"

namespace ascend_deepep::sim {

uint32_t Actors::next_in_order() const {
    const auto turn = [this](uint32_t entry) { return actors_[entry / 2].turn[entry % 2]; };
    return *std::min_element(runnable_.begin(), runnable_.end(),
                             [&](uint32_t a, uint32_t b) { return turn(a) < turn(b); });
}

uint64_t Actors::first_place() const {
    if (runnable_.empty()) return ~uint64_t{0};
    const uint32_t entry = next_in_order();
    return actors_[entry / 2].turn[entry % 2];
}

void Actors::to_the_end(Actor& actor, int slot) {
    actor.turn[slot] = shared_.choices->new_place();
}

void Actors::park(Actor& actor, int slot) {
    remove(actor, slot);
    actor.is_parked[slot] = true;
    shared_.choices->park(actor.id * 2 + static_cast<uint32_t>(slot));
}

void Actors::release(uint32_t entry) {
    Actor& actor = actors_[entry / 2];
    const int slot = static_cast<int>(entry % 2);
    actor.is_parked[slot] = false;
    const bool can_go = slot == kSelf ? actor.state == State::kRunnable && !actor.is_stalled
                                      : actor.core != nullptr && !actor.core->deferred->empty();
    if (can_go) insert(actor, slot);
}

// Anybody but the running core and its pipes.
bool Actors::can_others_go() const {
    const size_t own = (current_->place[kSelf] >= 0 ? 1 : 0) + (current_->place[kPipes] >= 0 ? 1 : 0);
    return runnable_.size() > own || !shared_.events.empty() || shared_.choices->has_late();
}

void Actors::decide(bool is_noticed) {
    Actor& actor = *current_;
    uint8_t alternatives = can_others_go() ? kPutOff : 0;
    if (!actor.core->deferred->empty()) alternatives |= static_cast<uint8_t>(Delay::kPipes);
    if (alternatives == 0) return;
    switch (shared_.choices->at(alternatives, is_noticed)) {
        case Delay::kBehind:
            to_the_end(actor, kSelf);
            give_way();
            return;
        case Delay::kLast:
            park(actor, kSelf);
            give_way();
            return;
        case Delay::kPipes:
            while (actor.core->deferred->advance()) {
            }
            return;
        case Delay::kTorn:
        case Delay::kNone:
            return;
    }
}

bool Actors::is_pipe_put_off(Actor& actor) {
    const bool has_others = runnable_.size() > 1 || !shared_.events.empty() || shared_.choices->has_late();
    const Delay how = has_others ? shared_.choices->at(kPutOff) : Delay::kNone;
    if (how == Delay::kBehind) to_the_end(actor, kPipes);
    if (how == Delay::kLast) park(actor, kPipes);
    return how != Delay::kNone;
}

}  // namespace ascend_deepep::sim
