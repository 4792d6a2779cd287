// SPDX-License-Identifier: Apache-2.0
// The loop of a world, and the faults that are not of the wire. Layer: twin/sim.
#include "twin/sim/world.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "twin/sim/checks/liveness.h"
#include "twin/sim/checks/waits_end.h"

namespace ascend_deepep::sim {
namespace {

constexpr uint64_t kMaxSteps = 50'000'000;  // a world takes some ten thousand; the largest a few million
constexpr uint64_t kShortIdleParts = 64;    // of a time-out: far beyond the way of a piece
constexpr uint32_t kMaxLooks = 32;          // then a peer's death has been seen, or its time-out has

Shared make_shared(const WorldConfig& config) {
    Shared shared(config.seed);
    shared.assumptions = config.assumptions;
    shared.fault = config.fault;
    shared.timeline = config.timeline;
    shared.timeout_ns = config.timeout_ns;
    const Schedule drawn = draw_schedule(config.seed, shared.random);
    shared.schedule = config.schedule.value_or(drawn);
    shared.choices = config.choices;
    shared.meter = config.meter;
    shared.costs = config.costs;
    shared.handicap = config.handicap;
    if (shared.choices != nullptr || shared.costs != nullptr) shared.random.be_calm();
    return shared;
}

}  // namespace

World::World(const WorldConfig& config)
    : config_(config),
      shared_(make_shared(config)),
      actors_(shared_, config.limits.num_ranks, config.num_cores,
              [this](uint32_t process) { return has_landed(process); }),
      looks_(config.limits.num_ranks, 0) {
    if (shared_.timeline != nullptr) shared_.timeline->begin(config.limits.num_ranks, config.num_cores);
    if (shared_.meter != nullptr) shared_.meter->begin(config.limits.num_ranks, config.num_cores);
    std::vector<uint32_t> all(config.limits.num_ranks);
    std::iota(all.begin(), all.end(), 0U);
    add_communicator(config, std::move(all));
}

uint32_t World::add_communicator(const CommunicatorConfig& config, std::vector<uint32_t> members) {
    const uint32_t number = num_communicators();
    if (shared_.timeline != nullptr) shared_.timeline->new_communicator(members);
    communicators_.push_back(std::make_unique<Communicator>(
        config, std::move(members), number, static_cast<uint32_t>(seats_.size()), config_.num_cores, shared_, actors_));
    for (uint32_t rank = 0; rank < config.limits.num_ranks; ++rank)
        seats_.push_back(&communicators_.back()->rank(rank));
    return number;
}

void World::host(uint32_t process, std::function<void(SimRank&)> body) {
    uint64_t start_ns = shared_.random.below(shared_.schedule.host_ns);
    FaultPlan& fault = shared_.fault;
    if (fault.kind == SimFault::kLateProcess && fault.rank == process) {
        start_ns += fault.ns;
        fault.has_struck = true;
    }
    actors_.start_host(
        process, [this, process, body = std::move(body)] { body(communicators_[0]->rank(process)); }, start_ns);
}

uint64_t World::num_writes() const {
    uint64_t sum = 0;
    for (const auto& communicator : communicators_)
        sum += communicator->wire().num_writes();
    return sum;
}

bool World::has_landed(uint32_t process) const {
    if (!shared_.assumptions.finished_has_landed) return true;  // A2
    return std::all_of(communicators_.begin(), communicators_.end(), [process](const auto& communicator) {
        const uint32_t rank = communicator->rank_of(process);
        return rank == communicator->num_ranks() || communicator->wire().in_air(rank) == 0;
    });
}

void World::handle(const Event& event) {
    if (shared_.timeline != nullptr) shared_.timeline->turn_begins();
    switch (event.kind) {
        case EventKind::kPiece:
            shared_.wires[event.rank]->piece(event);
            return;
        case EventKind::kFetch:
            seats_[event.rank]->urma().fetch(event.a);
            break;
        case EventKind::kExecute:
            seats_[event.rank]->urma().execute(event.a);
            break;
        case EventKind::kComplete:
            seats_[event.rank]->complete(event.a);
            break;
        case EventKind::kWake:
            actors_.wake(event.a);
            return;
        case EventKind::kLook:
            look(event.rank);
            return;
        case EventKind::kStore:
            seats_[event.rank]->store_lands(event.a);
            return;
    }
    actors_.landed(seats_[event.rank]->config().process);
}

void World::look(uint32_t process) {
    if (actors_.is_done(process) || looks_[process]++ == kMaxLooks) return;
    for (const auto& communicator : communicators_) {
        const uint32_t own = communicator->rank_of(process), gone = communicator->rank_of(dead_);
        if (own != communicator->num_ranks() && gone != communicator->num_ranks()) communicator->rank(own).look(gone);
    }
    shared_.events.add(shared_.soon(shared_.timeout_ns / 8), EventKind::kLook, process);
}

void World::strike() {
    FaultPlan& fault = shared_.fault;
    if (fault.has_struck || fault.is_over || shared_.steps < fault.at) return;
    if (fault.kind == SimFault::kCoreStalls) {
        actors_.stall(fault.rank, fault.core, shared_.now + fault.ns);
    } else if (fault.kind == SimFault::kRankDies) {
        if (actors_.is_done(fault.rank)) return;
        dead_ = fault.rank;
        actors_.kill(fault.rank);
        for (uint32_t process = 0; process < num_processes(); ++process) {
            if (process != dead_) shared_.events.add(shared_.soon(shared_.timeout_ns / 8), EventKind::kLook, process);
        }
    } else {
        return;
    }
    fault.has_struck = true;
    shared_.trace.mix(TraceKind::kFault, fault.rank, shared_.steps);
}

// A step of the world under a fixed order: it may be put off.
void World::offer(const Event& event) {
    Choices& choices = *shared_.choices;
    Delay how = must_follow(shared_, event);
    const bool has_others = actors_.can_go() || choices.has_late() || !shared_.events.empty();
    if (how == Delay::kNone && has_others) how = choices.at(kPutOff);
    if (how == Delay::kNone) {
        handle(event);
    } else {
        choices.put_off(event, how);
    }
}

// What was put off behind others that have had their turn.
bool World::take_late() {
    Choices* choices = shared_.choices;
    if (choices == nullptr || !choices->has_late() || choices->first_late() > actors_.first_place()) return false;
    handle(choices->take_late());
    return true;
}

// Nothing else can move: what was put off until then.
bool World::release() {
    Choices* choices = shared_.choices;
    if (choices == nullptr || !choices->has_parked()) return false;
    const Choices::Parked parked = choices->take_parked();
    if (parked.is_event) {
        handle(parked.event);
    } else {
        actors_.release(parked.entry);
    }
    return true;
}

// Nobody can go on now: time passes until something happens or a wait ends, whichever is first.
void World::idle() {
    uint64_t deadline = 0;
    const bool has_deadline = actors_.next_deadline(&deadline);
    const bool has_event = !shared_.events.empty();
    if (has_event && (!has_deadline || shared_.events.next_due() <= deadline)) {
        // In a long time all who wait look again; in a short one they may not get to it.
        const bool is_long = shared_.events.next_due() - shared_.now > shared_.timeout_ns / kShortIdleParts;
        if (is_long && actors_.look_again()) return;
        shared_.now = shared_.events.next_due();
        return;
    }
    if (release() || actors_.look_again()) return;
    if (has_deadline) {
        shared_.now = deadline;
        shared_.trace.mix(TraceKind::kTime, 0, deadline);
        actors_.wake_overdue();
        return;
    }
    shared_.findings.report("every wait ends", "nothing can move and no deadline is ahead at " +
                                                   std::to_string(shared_.now) + " ns" + stuck());
}

std::string World::stuck() const {
    std::string text;
    for (const auto& communicator : communicators_)
        text += stuck_cores(*communicator, actors_, config_.num_cores);
    return text;
}

void World::happen(const Event& event) {
    if (shared_.choices != nullptr) {
        offer(event);
    } else {
        handle(event);
    }
}

void World::step() {
    ++shared_.steps;
    strike();
    while (!shared_.events.empty() && shared_.events.next_due() <= shared_.now)
        happen(shared_.events.take());
    if (!take_late() && !actors_.run_one()) idle();
    if (shared_.timeline != nullptr) show_fault();
}

void World::show_fault() {
    if (has_shown_fault_ || !shared_.fault.has_struck) return;
    has_shown_fault_ = true;
    shared_.timeline->strikes(shared_.fault.rank, shared_.now);
}

void World::check_progress() {
    if (shared_.fault.has_struck && !has_struck_) {
        has_struck_ = true;
        quiet_since_ = shared_.steps;
    }
    const WorldSize size{num_processes(), config_.num_cores, config_.num_items};
    shared_.findings.report("liveness", liveness_fault(size, shared_.steps - quiet_since_));
    if (shared_.steps == kMaxSteps) {
        shared_.findings.report("every wait ends",
                                "still running after " + std::to_string(kMaxSteps) + " steps" + stuck());
    }
}

void World::run() {
    while (!actors_.all_done() && shared_.findings.empty()) {
        step();
        check_progress();
    }
    end_all();
}

// After a finding: hosts leave by an exception, cores stay where they stand.
void World::end_all() {
    if (shared_.timeline != nullptr) shared_.timeline->end(shared_.now);
    shared_.choices = nullptr;
    for (uint32_t process = 0; process < num_processes(); ++process)
        actors_.kill(process);
    while (!actors_.all_done())
        actors_.run_one();
}

}  // namespace ascend_deepep::sim
