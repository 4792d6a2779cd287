// SPDX-License-Identifier: Apache-2.0
// Everything that takes turns in a world: the cores of all ranks, their pipes, and one host a rank. Layer: twin/sim.
// One OS thread; the next actor and how far it goes are drawn. A core that polls sleeps until a word it has read may
// have changed; when nothing else can move, cores look again a few times, and then only the clock is left.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "twin/runtime/scheduler.h"
#include "twin/sim/shared.h"

namespace ascend_deepep::sim {

// Lines of 64 B, as bits of a hash: may say yes too often, never no where yes is true.
class LineSet {
  public:
    void clear() { bits_[0] = bits_[1] = bits_[2] = bits_[3] = 0; }
    void add(uint64_t offset, uint64_t bytes) {
        for (uint64_t line = offset / kLineBytes; line <= (offset + bytes - 1) / kLineBytes; ++line) {
            const uint64_t place = (line * 0x9E3779B97F4A7C15ULL) >> 56;
            bits_[place / 64] |= uint64_t{1} << (place % 64);
        }
    }
    bool meets(const LineSet& other) const {
        return ((bits_[0] & other.bits_[0]) | (bits_[1] & other.bits_[1]) | (bits_[2] & other.bits_[2]) |
                (bits_[3] & other.bits_[3])) != 0;
    }

  private:
    static constexpr uint64_t kLineBytes = 64;
    uint64_t bits_[4] = {};
};

// Ends a host whose rank is gone or whose world is over: thrown where it waits, caught by its fiber.
struct HostEnds {};

class Actors final : public twin::Scheduler {
  public:
    // `has_landed(rank)`: a launch of the rank may end.
    Actors(Shared& shared, uint32_t num_ranks, uint32_t num_cores, std::function<bool(uint32_t)> has_landed);
    ~Actors() override;

    // Hosts. `body` runs on a fiber of its own from `start_ns` on; what it throws is a finding.
    void start_host(uint32_t rank, std::function<void()> body, uint64_t start_ns);
    void host_sleeps(uint64_t ns);  // on a host's fiber

    // twin::Scheduler.
    twin::CorePool& pool() override;
    void run(twin::LaunchState& state) override;
    void poll(twin::Core& core) override;
    void leave(twin::Core& core) override;
    twin::Fiber& context() override { return context_; }

    // From the machine of a core, on its fiber: a place where another actor may go on.
    // `is_noticed`: for a search, whether it makes a difference to others who goes first.
    void choice(bool is_noticed = true) {
        if (shared_.costs != nullptr) {
            spend();
            return;
        }
        if (--run_left_ == 0) give_way();
        if (shared_.choices != nullptr) decide(is_noticed);
    }
    // The same before a wait for pipes.
    void pipe_choice() {
        if (shared_.choices == nullptr || !current_->core->deferred->empty()) choice();
    }
    // The running core has read these bytes of its rank's memory; it has looked at the clock.
    void has_read(uint64_t offset, uint64_t bytes) {
        current_->watched.add(offset, bytes);
        if (shared_.timeline != nullptr) shared_.timeline->reads(current_->id, offset, bytes);
    }
    void has_read_clock();
    // Now, with what the running core has done in this turn.
    uint64_t turn_ns() const { return shared_.now + turn_budget_ - run_left_; }
    // Where work has its cost: the running core, or its pipes, are busy for so long.
    void charge(uint64_t ns) { (wants_pipe_ ? pipe_debt_ : current_->debt) += ns; }
    uint32_t current_id() const { return current_ == nullptr ? 0 : current_->id; }
    // Another core of the running one's rank whose pipes have not done all they were given; none: -1.
    int32_t busy_core() const;
    // Bytes of the rank's memory change.
    void changes(uint32_t rank, uint64_t offset, uint64_t bytes);

    // The world's loop.
    bool run_one();  // false: nobody can go on
    // For a fixed order: somebody could go on; the place of who is next, the largest number when nobody can; what was
    // put off until the end may go on.
    bool can_go() const { return !runnable_.empty(); }
    uint64_t first_place() const;
    void release(uint32_t entry);
    bool look_again();  // false: all sleepers have looked often enough since the last change
    bool next_deadline(uint64_t* at) const;
    void wake_overdue();
    void wake(uint32_t id);
    void landed(uint32_t rank);  // something of the rank is not under way any more
    void kill(uint32_t rank);    // its cores stop where they stand, its host ends
    void stall(uint32_t rank, uint32_t core, uint64_t until);
    bool all_done() const { return hosts_left_ == 0; }
    bool is_launched(uint32_t rank) const { return ranks_[rank].launch != nullptr; }
    bool is_done(uint32_t rank) const { return ranks_[rank].is_done; }
    bool has_returned(uint32_t rank, uint32_t core) const {
        return actors_[first_core(rank) + core].state == State::kIdle;
    }

  private:
    static constexpr int kSelf = 0;  // slots of an actor
    static constexpr int kPipes = 1;
    enum class State : uint8_t { kIdle, kRunnable, kAsleep, kBlocked };
    struct Actor {
        uint32_t id = 0;
        uint32_t rank = 0;
        State state = State::kIdle;
        bool is_stalled = false;
        bool is_dirty = false;  // a watched line has changed since the last look
        bool has_entry = false;
        bool must_end = false;  // a host
        uint32_t slow_shift = 0;
        uint32_t fruitless = 0;  // looks since `version`
        uint64_t version = 0;
        uint64_t entry_ns = 0;        // its first look at the clock in this launch
        uint64_t clock_ns = 0;        // its last one
        int32_t place[2] = {-1, -1};  // in runnable_: itself, its pipes
        uint64_t turn[2] = {0, 0};    // in a fixed order
        uint64_t ready[2] = {0, 0};   // with costs: when it goes on, once it can
        uint64_t debt = 0;            // of the core: what it has done and not spent its time on
        bool is_parked[2] = {false, false};
        twin::Core* core = nullptr;  // null: a host
        twin::Fiber* fiber = nullptr;
        LineSet watched;
    };
    struct Rank {
        twin::LaunchState* launch = nullptr;
        uint32_t cores_left = 0;
        uint64_t version = 0;  // of its memory
        bool is_done = true;   // its host
        std::function<void()> body;
        twin::Fiber host;
        Actors* owner = nullptr;
    };

    uint32_t host_id(uint32_t rank) const { return rank * (num_cores_ + 1); }
    uint32_t first_core(uint32_t rank) const { return host_id(rank) + 1; }
    uint64_t deadline_of(const Actor& actor) const { return actor.entry_ns + shared_.timeout_ns + 1; }
    bool has_deadline(const Actor& actor) const;
    void insert(Actor& actor, int slot);
    void remove(Actor& actor, int slot);
    void make_runnable(Actor& actor);
    void take_out(Actor& actor, State state);
    void retire_cores(Rank& rank, uint32_t number);
    uint32_t pick();
    void resume(Actor& actor, bool is_pipe);
    void give_way();
    void run_pipe(Actor& actor);
    // actors_in_time.cpp
    void spend();
    uint64_t horizon() const;
    bool run_next();
    void enter_time(Actor& actor, int slot);
    void end_turn(Actor& actor, int slot);
    // actors_in_order.cpp
    void decide(bool is_noticed);
    bool can_others_go() const;
    void to_the_end(Actor& actor, int slot);
    void park(Actor& actor, int slot);
    uint32_t next_in_order() const;
    bool is_pipe_put_off(Actor& actor);
    static void host_main(void* rank);

    Shared& shared_;
    uint32_t num_cores_;
    std::function<bool(uint32_t)> has_landed_;
    std::vector<Actor> actors_;
    std::vector<Rank> ranks_;
    std::vector<uint32_t> runnable_;  // actor * 2 + slot
    twin::Fiber context_;
    Actor* current_ = nullptr;
    uint64_t run_left_ = 0;
    uint64_t turn_budget_ = 0;
    bool wants_pipe_ = false;
    std::set<std::pair<uint64_t, uint32_t>> in_time_;  // with costs: `ready` of those in runnable_ but the running one
    uint64_t pipe_debt_ = 0;
    uint32_t hosts_left_ = 0;
};

}  // namespace ascend_deepep::sim
