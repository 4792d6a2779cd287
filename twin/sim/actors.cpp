// SPDX-License-Identifier: Apache-2.0
// Turns, sleep and wake-ups. Layer: twin/sim.
#include "twin/sim/actors.h"

#include <algorithm>
#include <string>
#include <utility>

#include "twin/runtime/launch_state.h"
#include "twin/sim/checks/kernel_rules.h"

namespace ascend_deepep::sim {
namespace {

#if defined(__SANITIZE_ADDRESS__) || !defined(__OPTIMIZE__)
constexpr size_t kHostStackBytes = 1024 * 1024;
#else
constexpr size_t kHostStackBytes = 256 * 1024;
#endif
constexpr uint32_t kPickTries = 16;  // then the slowest actor's turn has come

// Kept between the worlds of a thread: cores and hosts by rank.
struct RankPool {
    twin::CorePool cores;
    char* host_stack = nullptr;
    ~RankPool() {
        if (host_stack != nullptr) twin::unmap_pages(host_stack, kHostStackBytes);
    }
};

RankPool& rank_pool(uint32_t rank) {
    static thread_local std::vector<std::unique_ptr<RankPool>> pools;
    while (pools.size() <= rank)
        pools.push_back(std::make_unique<RankPool>());
    return *pools[rank];
}

}  // namespace

Actors::Actors(Shared& shared, uint32_t num_ranks, uint32_t num_cores, std::function<bool(uint32_t)> has_landed)
    : shared_(shared),
      num_cores_(num_cores),
      has_landed_(std::move(has_landed)),
      actors_(num_ranks * (num_cores + 1)),
      ranks_(num_ranks) {
    for (uint32_t id = 0; id < actors_.size(); ++id) {
        actors_[id].id = id;
        actors_[id].rank = id / (num_cores + 1);
        actors_[id].slow_shift = shared.random.between(0, shared.schedule.slow_shift);
    }
}

Actors::~Actors() = default;

void Actors::insert(Actor& actor, int slot) {
    if (actor.place[slot] >= 0 || actor.is_parked[slot]) return;
    if (shared_.choices != nullptr) actor.turn[slot] = shared_.choices->new_place();
    actor.place[slot] = static_cast<int32_t>(runnable_.size());
    runnable_.push_back(actor.id * 2 + static_cast<uint32_t>(slot));
    if (shared_.costs != nullptr) enter_time(actor, slot);
}

void Actors::remove(Actor& actor, int slot) {
    const int32_t at = actor.place[slot];
    if (at < 0) return;
    const uint32_t last = runnable_.back();
    runnable_[static_cast<size_t>(at)] = last;
    actors_[last / 2].place[last % 2] = at;
    runnable_.pop_back();
    actor.place[slot] = -1;
    if (shared_.costs != nullptr) in_time_.erase({actor.ready[slot], actor.id * 2 + static_cast<uint32_t>(slot)});
}

void Actors::make_runnable(Actor& actor) {
    actor.state = State::kRunnable;
    if (!actor.is_stalled) insert(actor, kSelf);
}

void Actors::take_out(Actor& actor, State state) {
    actor.state = state;
    remove(actor, kSelf);
}

void Actors::start_host(uint32_t rank, std::function<void()> body, uint64_t start_ns) {
    RankPool& pool = rank_pool(rank);
    if (pool.host_stack == nullptr) pool.host_stack = twin::map_pages(kHostStackBytes);
    Rank& r = ranks_[rank];
    r.body = std::move(body);
    r.is_done = false;
    r.owner = this;
    r.host.stack = pool.host_stack;
    r.host.stack_bytes = kHostStackBytes;
    twin::fiber_prepare(r.host, &host_main, &r);
    ++hosts_left_;
    Actor& host = actors_[host_id(rank)];
    host.fiber = &r.host;
    host.state = State::kBlocked;
    shared_.events.add(start_ns, EventKind::kWake, rank, host.id);
}

void Actors::host_main(void* argument) {
    Rank& rank = *static_cast<Rank*>(argument);
    Actors& self = *rank.owner;
    twin::fiber_entered(self.context_);
    Actor& host = *self.current_;
    std::string error;
    try {
        if (!host.must_end) rank.body();
    } catch (const HostEnds&) {
        error.clear();
    } catch (const std::exception& caught) {
        error = caught.what();
    }
    self.shared_.findings.report("kernel rules", kernel_fault(host.rank, error));
    error = std::string();
    rank.body = nullptr;
    rank.is_done = true;
    --self.hosts_left_;
    self.take_out(host, State::kIdle);
    twin::fiber_switch(rank.host, self.context_, true);
    __builtin_unreachable();
}

void Actors::host_sleeps(uint64_t ns) {
    Actor& host = *current_;
    take_out(host, State::kBlocked);
    shared_.events.add(shared_.now + ns, EventKind::kWake, host.rank, host.id);
    give_way();
}

twin::CorePool& Actors::pool() {
    return rank_pool(current_->rank).cores;
}

void Actors::run(twin::LaunchState& state) {
    Actor& host = *current_;
    Rank& rank = ranks_[host.rank];
    shared_.trace.mix(TraceKind::kLaunch, host.id, state.config.num_cores);
    rank.launch = &state;
    rank.cores_left = state.config.num_cores;
    twin::CorePool& cores = pool();
    for (uint32_t i = 0; i < state.config.num_cores; ++i) {
        Actor& actor = actors_[first_core(host.rank) + i];
        actor.core = &cores.core(i);
        actor.fiber = &actor.core->fiber;
        actor.watched.clear();
        actor.is_dirty = actor.has_entry = false;
        actor.fruitless = 0;
        if (shared_.handicap.is_of(Handicap::Kind::kCore, host.rank) && shared_.handicap.core == i)
            actor.debt += shared_.handicap.ns;
        make_runnable(actor);
    }
    take_out(host, State::kBlocked);
    give_way();
    rank.launch = nullptr;
}

void Actors::poll(twin::Core&) {
    Actor& actor = *current_;
    if (shared_.costs != nullptr) spend();
    const uint64_t from_ns = shared_.now;
    if (!actor.is_dirty) {
        shared_.trace.mix(TraceKind::kSleep, actor.id, 0);
        take_out(actor, State::kAsleep);
        if (shared_.timeline != nullptr) shared_.timeline->sleeps(actor.id, turn_ns(), actor.core->waiting);
    }
    if (shared_.choices != nullptr && actor.is_dirty) to_the_end(actor, kSelf);
    give_way();
    if (shared_.timeline != nullptr) shared_.timeline->looks(actor.id, shared_.now);
    if (shared_.meter != nullptr) {
        const uint32_t core = actor.id - first_core(actor.rank);
        shared_.meter->add(actor.rank, core, Meter::Count::kPolls);
        shared_.meter->add(actor.rank, core, Meter::Count::kWaitNs, shared_.now - from_ns);
    }
    actor.watched.clear();
    actor.is_dirty = false;
}

void Actors::retire_cores(Rank& rank, uint32_t number) {
    for (uint32_t i = 0; i < num_cores_; ++i) {
        Actor& actor = actors_[first_core(number) + i];
        if (shared_.timeline != nullptr) shared_.timeline->returns(actor.id, shared_.now);
        take_out(actor, State::kIdle);
        remove(actor, kPipes);
        actor.is_parked[kSelf] = actor.is_parked[kPipes] = false;
        actor.core = nullptr;
    }
    rank.cores_left = 0;
}

void Actors::leave(twin::Core& core) {
    Actor& actor = *current_;
    if (shared_.costs != nullptr) spend();
    Rank& rank = ranks_[actor.rank];
    shared_.trace.mix(TraceKind::kReturn, actor.id, shared_.now);
    if (shared_.timeline != nullptr) shared_.timeline->returns(actor.id, turn_ns());
    take_out(actor, State::kIdle);
    remove(actor, kPipes);
    actor.core = nullptr;
    if (rank.launch->error) {
        retire_cores(rank, actor.rank);
        make_runnable(actors_[host_id(actor.rank)]);
    } else if (--rank.cores_left == 0 && has_landed_(actor.rank)) {
        make_runnable(actors_[host_id(actor.rank)]);
    }
    twin::fiber_switch(core.fiber, context_, true);
    __builtin_unreachable();
}

void Actors::landed(uint32_t rank) {
    Rank& r = ranks_[rank];
    Actor& host = actors_[host_id(rank)];
    if (r.launch == nullptr || r.cores_left != 0 || host.state != State::kBlocked || !has_landed_(rank)) return;
    make_runnable(host);
}

void Actors::has_read_clock() {
    current_->clock_ns = shared_.now;
    if (current_->has_entry) return;
    current_->has_entry = true;
    current_->entry_ns = shared_.now;
}

int32_t Actors::busy_core() const {
    for (uint32_t i = 0; i < num_cores_; ++i) {
        const Actor& actor = actors_[first_core(current_->rank) + i];
        if (&actor != current_ && actor.core != nullptr && !actor.core->deferred->empty())
            return static_cast<int32_t>(i);
    }
    return -1;
}

void Actors::changes(uint32_t rank, uint64_t offset, uint64_t bytes) {
    LineSet lines;
    lines.add(offset, bytes);
    ++ranks_[rank].version;
    Actor* actor = &actors_[first_core(rank)];
    for (uint32_t i = 0; i < num_cores_; ++i, ++actor) {
        if (!actor->watched.meets(lines)) continue;
        actor->is_dirty = true;
        if (actor->state != State::kAsleep) continue;
        make_runnable(*actor);
        if (shared_.timeline != nullptr) shared_.timeline->changes(actor->id, offset, bytes, shared_.now);
    }
}

uint32_t Actors::pick() {
    for (uint32_t tries = 1;; ++tries) {
        const uint32_t entry = runnable_[shared_.random.below(runnable_.size())];
        const uint32_t shift = entry % 2 == kPipes ? shared_.schedule.pipe_shift : actors_[entry / 2].slow_shift;
        if (shift == 0 || tries == kPickTries || shared_.random.below(uint64_t{1} << shift) == 0) return entry;
    }
}

bool Actors::run_one() {
    if (runnable_.empty()) return false;
    if (shared_.costs != nullptr) return run_next();
    const uint32_t entry = shared_.choices == nullptr ? pick() : next_in_order();
    Actor& actor = actors_[entry / 2];
    const bool is_pipe = entry % 2 == kPipes;
    if (shared_.choices == nullptr || !is_pipe || !is_pipe_put_off(actor)) resume(actor, is_pipe);
    return true;
}

void Actors::resume(Actor& actor, bool is_pipe) {
    const uint64_t budget = 1 + shared_.random.below(uint64_t{1} << shared_.schedule.run_bits);
    shared_.trace.mix(is_pipe ? TraceKind::kPipe : TraceKind::kRun, actor.id, budget);
    run_left_ = turn_budget_ = budget;
    if (shared_.timeline != nullptr) shared_.timeline->turn_begins();
    wants_pipe_ = is_pipe;
    current_ = &actor;
    twin::current_core_pointer = actor.core;
    twin::fiber_switch(context_, *actor.fiber);
    twin::current_core_pointer = nullptr;
    current_ = nullptr;
    if (shared_.costs == nullptr) {
        shared_.now += std::max<uint64_t>(1, budget - std::min(budget, run_left_));
    } else {
        end_turn(actor, is_pipe ? kPipes : kSelf);
    }
    if (actor.core == nullptr) return;
    if (actor.core->deferred->empty()) {
        remove(actor, kPipes);
    } else {
        insert(actor, kPipes);
        if (shared_.choices != nullptr && is_pipe) to_the_end(actor, kPipes);
    }
}

void Actors::give_way() {
    Actor& actor = *current_;
    twin::Fiber& fiber = *actor.fiber;
    for (;;) {
        twin::fiber_switch(fiber, context_);
        if (actor.must_end) throw HostEnds{};
        if (!wants_pipe_) return;
        run_pipe(actor);
    }
}

void Actors::run_pipe(Actor& actor) {
    constexpr twin::Pipe kOrder[] = {twin::Pipe::kMte3, twin::Pipe::kV, twin::Pipe::kMte2};
    const uint64_t first = shared_.random.below(3);
    for (uint64_t i = 0; i < 3; ++i) {
        if (actor.core->deferred->advance(kOrder[(first + i) % 3])) return;
    }
}

bool Actors::look_again() {
    // A core looks at the abort cells of its peers in turn, one every few polls.
    const uint32_t enough = 4 * static_cast<uint32_t>(ranks_.size()) + 4;
    bool any = false;
    for (Actor& actor : actors_) {
        if (actor.state != State::kAsleep || actor.is_stalled) continue;
        const uint64_t version = ranks_[actor.rank].version;
        if (actor.version != version) actor.fruitless = 0;
        actor.version = version;
        if (actor.fruitless >= enough) continue;
        ++actor.fruitless;
        make_runnable(actor);
        any = true;
    }
    return any;
}

// A sleeper that has not looked at the clock since its deadline.
bool Actors::has_deadline(const Actor& actor) const {
    return actor.state == State::kAsleep && actor.has_entry && !actor.is_stalled && actor.clock_ns < deadline_of(actor);
}

bool Actors::next_deadline(uint64_t* at) const {
    bool any = false;
    for (const Actor& actor : actors_) {
        if (!has_deadline(actor) || (any && deadline_of(actor) >= *at)) continue;
        *at = deadline_of(actor);
        any = true;
    }
    if (any) *at = std::max(*at, shared_.now);
    return any;
}

void Actors::wake_overdue() {
    for (Actor& actor : actors_) {
        if (has_deadline(actor) && deadline_of(actor) <= shared_.now) make_runnable(actor);
    }
}

void Actors::wake(uint32_t id) {
    Actor& actor = actors_[id];
    if (actor.is_stalled) {
        actor.is_stalled = false;
        if (actor.state == State::kRunnable) insert(actor, kSelf);
        if (actor.state == State::kAsleep) make_runnable(actor);
        if (actor.core != nullptr && !actor.core->deferred->empty()) insert(actor, kPipes);
    } else if (actor.state == State::kBlocked && ranks_[actor.rank].launch == nullptr) {
        make_runnable(actor);
    }
}

void Actors::kill(uint32_t rank) {
    Rank& r = ranks_[rank];
    if (r.is_done) return;
    retire_cores(r, rank);
    Actor& host = actors_[host_id(rank)];
    host.must_end = true;
    make_runnable(host);
}

void Actors::stall(uint32_t rank, uint32_t core, uint64_t until) {
    Actor& actor = actors_[first_core(rank) + core];
    actor.is_stalled = true;
    remove(actor, kSelf);
    remove(actor, kPipes);
    shared_.events.add(until, EventKind::kWake, rank, actor.id);
}

}  // namespace ascend_deepep::sim
