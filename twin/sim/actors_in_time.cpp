// SPDX-License-Identifier: Apache-2.0
// Turns in a world whose work has costs: each core has a clock, and so have its pipes; the one that is first goes on,
// until what it does next would end behind somebody else's turn or an event. Layer: twin/sim.
#include <algorithm>

#include "twin/sim/actors.h"

namespace ascend_deepep::sim {

void Actors::enter_time(Actor& actor, int slot) {
    actor.ready[slot] = std::max(actor.ready[slot], shared_.now);
    in_time_.emplace(actor.ready[slot], actor.id * 2 + static_cast<uint32_t>(slot));
}

// The first moment at which something else happens.
uint64_t Actors::horizon() const {
    uint64_t first = in_time_.empty() ? ~uint64_t{0} : in_time_.begin()->first;
    if (!shared_.events.empty()) first = std::min(first, shared_.events.next_due());
    return first;
}

// The running core has worked for what it owes.
void Actors::spend() {
    Actor& actor = *current_;
    const uint64_t until = shared_.now + actor.debt;
    actor.debt = 0;
    if (until <= horizon()) {
        shared_.now = until;
        return;
    }
    actor.ready[kSelf] = until;
    give_way();
}

bool Actors::run_next() {
    const auto [at, entry] = *in_time_.begin();
    if (!shared_.events.empty() && shared_.events.next_due() <= at) {
        shared_.now = std::max(shared_.now, shared_.events.next_due());
        return true;
    }
    shared_.now = std::max(shared_.now, at);
    in_time_.erase(in_time_.begin());
    pipe_debt_ = 0;
    resume(actors_[entry / 2], entry % 2 == kPipes);
    return true;
}

void Actors::end_turn(Actor& actor, int slot) {
    if (slot == kPipes) actor.ready[kPipes] = shared_.now + std::max<uint64_t>(1, pipe_debt_);
    if (actor.place[slot] >= 0) enter_time(actor, slot);
}

}  // namespace ascend_deepep::sim
