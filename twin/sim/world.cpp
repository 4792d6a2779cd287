// SPDX-License-Identifier: Apache-2.0
// The loop of a world, and the faults that are not of the wire. Layer: twin/sim.
#include "twin/sim/world.h"

#include <string>

#include "twin/sim/checks/waits_end.h"

namespace ascend_deepep::sim {
namespace {

constexpr uint64_t kMaxSteps = 50'000'000;  // a world takes some ten thousand; the largest a few million
constexpr uint32_t kMaxLooks = 32;          // then a peer's death has been seen, or its time-out has
constexpr uint64_t kStaleCommunicator = uint64_t{0x5A5A5A5A} << 32;

Shared make_shared(const WorldConfig& config) {
    Shared shared(config.seed);
    shared.assumptions = config.assumptions;
    shared.fault = config.fault;
    shared.timeline = config.timeline;
    shared.timeout_ns = config.timeout_ns;
    const Schedule drawn = draw_schedule(shared.random);
    shared.schedule = config.schedule.value_or(drawn);
    shared.choices = config.choices;
    if (shared.choices != nullptr) shared.random.be_calm();
    return shared;
}

}  // namespace

World::World(const WorldConfig& config)
    : config_(config),
      shared_(make_shared(config)),
      arena_(config.limits.num_ranks, window_layout(config.limits),
             kStaleCommunicator | static_cast<uint32_t>(config.tag_base + shared_.random.below(2)), shared_.random),
      actors_(shared_, config.limits.num_ranks, config.num_cores, [this](uint32_t rank) { return has_landed(rank); }),
      wire_(shared_, actors_, arena_),
      looks_(config.limits.num_ranks, 0) {
    if (shared_.timeline != nullptr) shared_.timeline->begin(config.limits.num_ranks, config.num_cores);
    RankConfig rank{};
    rank.limits = config.limits;
    rank.num_cores = config.num_cores;
    rank.queue_depth = config.queue_depth;
    rank.tag_base = config.tag_base;
    for (uint32_t i = 0; i < config.limits.num_ranks; ++i)
        rank.nonces.push_back(shared_.random.next());
    for (rank.rank = 0; rank.rank < config.limits.num_ranks; ++rank.rank)
        ranks_.push_back(std::make_unique<SimRank>(rank, shared_, actors_, arena_, wire_));
}

void World::host(uint32_t rank, std::function<void(SimRank&)> body) {
    uint64_t start_ns = shared_.random.below(shared_.schedule.host_ns);
    FaultPlan& fault = shared_.fault;
    if (fault.kind == SimFault::kLateProcess && fault.rank == rank) {
        start_ns += fault.ns;
        fault.has_struck = true;
    }
    actors_.start_host(rank, [this, rank, body = std::move(body)] { body(*ranks_[rank]); }, start_ns);
}

bool World::has_landed(uint32_t rank) const {
    if (!shared_.assumptions.finished_has_landed) return true;  // A2
    return wire_.in_air(rank) == 0;
}

void World::handle(const Event& event) {
    if (shared_.timeline != nullptr) shared_.timeline->turn_begins();
    switch (event.kind) {
        case EventKind::kPiece:
            wire_.piece(event);
            return;
        case EventKind::kFetch:
            ranks_[event.rank]->urma().fetch(event.a);
            break;
        case EventKind::kExecute:
            ranks_[event.rank]->urma().execute(event.a);
            break;
        case EventKind::kComplete:
            ranks_[event.rank]->complete(event.a);
            break;
        case EventKind::kWake:
            actors_.wake(event.a);
            return;
        case EventKind::kLook:
            look(event.rank);
            return;
        case EventKind::kStore:
            ranks_[event.rank]->store_lands(event.a);
            return;
    }
    actors_.landed(event.rank);
}

void World::look(uint32_t rank) {
    if (actors_.is_done(rank) || looks_[rank]++ == kMaxLooks) return;
    ranks_[rank]->look(dead_);
    shared_.events.add(shared_.soon(shared_.timeout_ns / 8), EventKind::kLook, rank);
}

void World::strike() {
    FaultPlan& fault = shared_.fault;
    if (fault.has_struck || shared_.steps < fault.at) return;
    if (fault.kind == SimFault::kCoreStalls) {
        actors_.stall(fault.rank, fault.core, shared_.now + fault.ns);
    } else if (fault.kind == SimFault::kRankDies) {
        if (actors_.is_done(fault.rank)) return;
        dead_ = fault.rank;
        actors_.kill(fault.rank);
        for (uint32_t rank = 0; rank < ranks_.size(); ++rank) {
            if (rank != dead_) shared_.events.add(shared_.soon(shared_.timeout_ns / 8), EventKind::kLook, rank);
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
                                                   std::to_string(shared_.now) + " ns" +
                                                   stuck_cores(actors_, arena_, config_.num_cores));
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

void World::run() {
    while (!actors_.all_done() && shared_.findings.empty()) {
        step();
        if (shared_.steps == kMaxSteps) {
            shared_.findings.report("every wait ends", "still running after " + std::to_string(kMaxSteps) + " steps" +
                                                           stuck_cores(actors_, arena_, config_.num_cores));
        }
    }
    end_all();
}

// After a finding: hosts leave by an exception, cores stay where they stand.
void World::end_all() {
    if (shared_.timeline != nullptr) shared_.timeline->end(shared_.now);
    shared_.choices = nullptr;
    for (uint32_t rank = 0; rank < ranks_.size(); ++rank)
        actors_.kill(rank);
    while (!actors_.all_done())
        actors_.run_one();
}

}  // namespace ascend_deepep::sim
