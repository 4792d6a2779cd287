// SPDX-License-Identifier: Apache-2.0
// Turns, sleep and wake-ups. Layer: twin/sim.
#include "twin/sim/agents.h"

#include <algorithm>
#include <string>
#include <utility>

#include "twin/runtime/launch_state.h"

namespace ascend_deepep::sim {
namespace {

#if defined(__SANITIZE_ADDRESS__) || !defined(__OPTIMIZE__)
constexpr size_t kHostStackBytes = 1024 * 1024;
#else
constexpr size_t kHostStackBytes = 256 * 1024;
#endif
constexpr uint32_t kPickTries = 16;  // then the slowest agent's turn has come
constexpr int kSelf = 0;
constexpr int kPipes = 1;

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

Agents::Agents(Shared& shared, uint32_t num_ranks, uint32_t num_cores, std::function<bool(uint32_t)> has_landed)
    : shared_(shared),
      num_cores_(num_cores),
      has_landed_(std::move(has_landed)),
      agents_(num_ranks * (num_cores + 1)),
      ranks_(num_ranks) {
    for (uint32_t id = 0; id < agents_.size(); ++id) {
        agents_[id].id = id;
        agents_[id].rank = id / (num_cores + 1);
        agents_[id].slow_shift = shared.random.between(0, shared.schedule.slow_shift);
    }
}

Agents::~Agents() = default;

void Agents::insert(Agent& agent, int slot) {
    if (agent.place[slot] >= 0) return;
    agent.place[slot] = static_cast<int32_t>(runnable_.size());
    runnable_.push_back(agent.id * 2 + static_cast<uint32_t>(slot));
}

void Agents::remove(Agent& agent, int slot) {
    const int32_t at = agent.place[slot];
    if (at < 0) return;
    const uint32_t last = runnable_.back();
    runnable_[static_cast<size_t>(at)] = last;
    agents_[last / 2].place[last % 2] = at;
    runnable_.pop_back();
    agent.place[slot] = -1;
}

void Agents::make_runnable(Agent& agent) {
    agent.state = State::kRunnable;
    if (!agent.is_stalled) insert(agent, kSelf);
}

void Agents::take_out(Agent& agent, State state) {
    agent.state = state;
    remove(agent, kSelf);
}

void Agents::start_host(uint32_t rank, std::function<void()> body, uint64_t start_ns) {
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
    Agent& host = agents_[host_id(rank)];
    host.fiber = &r.host;
    host.state = State::kBlocked;
    shared_.events.add(start_ns, EventKind::kWake, rank, host.id);
}

void Agents::host_main(void* argument) {
    Rank& rank = *static_cast<Rank*>(argument);
    Agents& self = *rank.owner;
    twin::fiber_entered(self.context_);
    Agent& host = *self.current_;
    std::string error;
    try {
        if (!host.must_end) rank.body();
    } catch (const HostEnds&) {
        error.clear();
    } catch (const std::exception& caught) {
        error = caught.what();
    }
    self.shared_.findings.report("kernel rules",
                                 error.empty() ? "" : "rank " + std::to_string(host.rank) + ": " + error);
    error = std::string();
    rank.body = nullptr;
    rank.is_done = true;
    --self.hosts_left_;
    self.take_out(host, State::kIdle);
    twin::fiber_switch(rank.host, self.context_, true);
    __builtin_unreachable();
}

void Agents::host_sleeps(uint64_t ns) {
    Agent& host = *current_;
    take_out(host, State::kBlocked);
    shared_.events.add(shared_.now + ns, EventKind::kWake, host.rank, host.id);
    give_way();
}

twin::CorePool& Agents::pool() {
    return rank_pool(current_->rank).cores;
}

void Agents::run(twin::LaunchState& state) {
    Agent& host = *current_;
    Rank& rank = ranks_[host.rank];
    shared_.trace.mix(TraceKind::kLaunch, host.id, state.config.num_cores);
    rank.launch = &state;
    rank.cores_left = state.config.num_cores;
    twin::CorePool& cores = pool();
    for (uint32_t i = 0; i < state.config.num_cores; ++i) {
        Agent& agent = agents_[first_core(host.rank) + i];
        agent.core = &cores.core(i);
        agent.fiber = &agent.core->fiber;
        agent.watched.clear();
        agent.is_dirty = agent.has_entry = false;
        agent.fruitless = 0;
        make_runnable(agent);
    }
    take_out(host, State::kBlocked);
    give_way();
    rank.launch = nullptr;
}

void Agents::poll(twin::Core&) {
    Agent& agent = *current_;
    if (!agent.is_dirty) {
        shared_.trace.mix(TraceKind::kSleep, agent.id, 0);
        take_out(agent, State::kAsleep);
    }
    give_way();
    agent.watched.clear();
    agent.is_dirty = false;
}

void Agents::retire_cores(Rank& rank, uint32_t number) {
    for (uint32_t i = 0; i < num_cores_; ++i) {
        Agent& agent = agents_[first_core(number) + i];
        take_out(agent, State::kIdle);
        remove(agent, kPipes);
        agent.core = nullptr;
    }
    rank.cores_left = 0;
}

void Agents::leave(twin::Core& core) {
    Agent& agent = *current_;
    Rank& rank = ranks_[agent.rank];
    shared_.trace.mix(TraceKind::kReturn, agent.id, shared_.now);
    take_out(agent, State::kIdle);
    remove(agent, kPipes);
    agent.core = nullptr;
    if (rank.launch->error) {
        retire_cores(rank, agent.rank);
        make_runnable(agents_[host_id(agent.rank)]);
    } else if (--rank.cores_left == 0 && has_landed_(agent.rank)) {
        make_runnable(agents_[host_id(agent.rank)]);
    }
    twin::fiber_switch(core.fiber, context_, true);
    __builtin_unreachable();
}

void Agents::landed(uint32_t rank) {
    Rank& r = ranks_[rank];
    Agent& host = agents_[host_id(rank)];
    if (r.launch == nullptr || r.cores_left != 0 || host.state != State::kBlocked || !has_landed_(rank)) return;
    make_runnable(host);
}

void Agents::has_read_clock() {
    current_->clock_ns = shared_.now;
    if (current_->has_entry) return;
    current_->has_entry = true;
    current_->entry_ns = shared_.now;
}

int32_t Agents::busy_core() const {
    for (uint32_t i = 0; i < num_cores_; ++i) {
        const Agent& agent = agents_[first_core(current_->rank) + i];
        if (&agent != current_ && agent.core != nullptr && !agent.core->deferred->empty())
            return static_cast<int32_t>(i);
    }
    return -1;
}

void Agents::changes(uint32_t rank, uint64_t offset, uint64_t bytes) {
    LineSet lines;
    lines.add(offset, bytes);
    ++ranks_[rank].version;
    Agent* agent = &agents_[first_core(rank)];
    for (uint32_t i = 0; i < num_cores_; ++i, ++agent) {
        if (!agent->watched.meets(lines)) continue;
        agent->is_dirty = true;
        if (agent->state == State::kAsleep) make_runnable(*agent);
    }
}

uint32_t Agents::pick() {
    for (uint32_t tries = 1;; ++tries) {
        const uint32_t entry = runnable_[shared_.random.below(runnable_.size())];
        const uint32_t shift = entry % 2 == kPipes ? shared_.schedule.pipe_shift : agents_[entry / 2].slow_shift;
        if (shift == 0 || tries == kPickTries || shared_.random.below(uint64_t{1} << shift) == 0) return entry;
    }
}

bool Agents::run_one() {
    if (runnable_.empty()) return false;
    const uint32_t entry = pick();
    resume(agents_[entry / 2], entry % 2 == kPipes);
    return true;
}

void Agents::resume(Agent& agent, bool is_pipe) {
    const uint64_t budget = 1 + shared_.random.below(uint64_t{1} << shared_.schedule.run_bits);
    shared_.trace.mix(is_pipe ? TraceKind::kPipe : TraceKind::kRun, agent.id, budget);
    run_left_ = budget;
    wants_pipe_ = is_pipe;
    current_ = &agent;
    twin::current_core_pointer = agent.core;
    twin::fiber_switch(context_, *agent.fiber);
    twin::current_core_pointer = nullptr;
    current_ = nullptr;
    shared_.now += std::max<uint64_t>(1, budget - std::min(budget, run_left_));
    if (agent.core == nullptr) return;
    if (agent.core->deferred->empty()) {
        remove(agent, kPipes);
    } else {
        insert(agent, kPipes);
    }
}

void Agents::give_way() {
    Agent& agent = *current_;
    twin::Fiber& fiber = *agent.fiber;
    for (;;) {
        twin::fiber_switch(fiber, context_);
        if (agent.must_end) throw HostEnds{};
        if (!wants_pipe_) return;
        run_pipe(agent);
    }
}

void Agents::run_pipe(Agent& agent) {
    constexpr twin::Pipe kOrder[] = {twin::Pipe::kMte3, twin::Pipe::kV, twin::Pipe::kMte2};
    const uint64_t first = shared_.random.below(3);
    for (uint64_t i = 0; i < 3; ++i) {
        if (agent.core->deferred->advance(kOrder[(first + i) % 3])) return;
    }
}

bool Agents::look_again() {
    // A core looks at the abort cells of its peers in turn, one every few polls.
    const uint32_t enough = 4 * static_cast<uint32_t>(ranks_.size()) + 4;
    bool any = false;
    for (Agent& agent : agents_) {
        if (agent.state != State::kAsleep || agent.is_stalled) continue;
        const uint64_t version = ranks_[agent.rank].version;
        if (agent.version != version) agent.fruitless = 0;
        agent.version = version;
        if (agent.fruitless >= enough) continue;
        ++agent.fruitless;
        make_runnable(agent);
        any = true;
    }
    return any;
}

// A sleeper that has not looked at the clock since its deadline.
bool Agents::has_deadline(const Agent& agent) const {
    return agent.state == State::kAsleep && agent.has_entry && !agent.is_stalled && agent.clock_ns < deadline_of(agent);
}

bool Agents::next_deadline(uint64_t* at) const {
    bool any = false;
    for (const Agent& agent : agents_) {
        if (!has_deadline(agent) || (any && deadline_of(agent) >= *at)) continue;
        *at = deadline_of(agent);
        any = true;
    }
    if (any) *at = std::max(*at, shared_.now);
    return any;
}

void Agents::wake_overdue() {
    for (Agent& agent : agents_) {
        if (has_deadline(agent) && deadline_of(agent) <= shared_.now) make_runnable(agent);
    }
}

void Agents::wake(uint32_t id) {
    Agent& agent = agents_[id];
    if (agent.is_stalled) {
        agent.is_stalled = false;
        if (agent.state == State::kRunnable) insert(agent, kSelf);
        if (agent.state == State::kAsleep) make_runnable(agent);
        if (agent.core != nullptr && !agent.core->deferred->empty()) insert(agent, kPipes);
    } else if (agent.state == State::kBlocked && ranks_[agent.rank].launch == nullptr) {
        make_runnable(agent);
    }
}

void Agents::kill(uint32_t rank) {
    Rank& r = ranks_[rank];
    if (r.is_done) return;
    retire_cores(r, rank);
    Agent& host = agents_[host_id(rank)];
    host.must_end = true;
    make_runnable(host);
}

void Agents::stall(uint32_t rank, uint32_t core, uint64_t until) {
    Agent& agent = agents_[first_core(rank) + core];
    agent.is_stalled = true;
    remove(agent, kSelf);
    remove(agent, kPipes);
    shared_.events.add(until, EventKind::kWake, rank, agent.id);
}

}  // namespace ascend_deepep::sim
