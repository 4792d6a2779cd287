// SPDX-License-Identifier: Apache-2.0
// What happened in a world and when, for a person to look at: stages and waits of cores, WQEs, remote writes, who woke
// whom. Layer: twin/sim. A recorder only listens: no decision depends on it, and it leaves the fingerprint alone.
// Times are virtual nanoseconds; within a turn each access of the core counts one.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "twin/runtime/capture.h"

namespace ascend_deepep::sim {

class Timeline {
  public:
    static constexpr uint32_t kNone = ~0U;
    static constexpr uint64_t kLineBytes = 64;
    static constexpr uint64_t kNever = ~uint64_t{0};

    // `core`: index on its rank.
    struct Stage {
        uint32_t rank, core, stage;
        uint64_t from, to;
        uint64_t first_output = kNever;  // when a copy of the core first changed a tensor of the caller
    };
    struct Wait {
        uint32_t rank, core, stage;
        uint64_t from, to;
        std::vector<uint64_t> lines;  // offsets of what it has looked at since its last look
        twin::Waiting waiting;        // what it is for, as the kernel says
    };
    struct Read {  // of data that ranks write for each other, by a copy of the core
        uint32_t rank, core;
        uint64_t offset, bytes;
        uint64_t at;
    };
    struct Call {  // of a host
        uint32_t rank;
        std::string name;
        uint64_t from, to;
    };
    struct Doorbell {
        uint32_t rank, core, queue;  // as the rank's queue table has it
        uint64_t at;
    };
    struct Wqe {
        uint32_t communicator, rank, peer, queue, index;
        uint32_t doorbell;  // that announced it, kNone: not known
        uint64_t fetched, executed, completed;
    };
    struct Write {
        uint32_t communicator, from, to;
        uint64_t offset, bytes;
        uint64_t left, landed;
        uint32_t core;  // of the sender, kNone: by a WQE
        uint32_t wqe;   // kNone: by a core
    };
    enum class Source : uint32_t { kCore, kWrite, kWqe };
    struct WakeUp {
        Source source;
        uint32_t index;       // of the write or WQE
        uint32_t from, core;  // of a core
        uint64_t line;        // that changed
        uint64_t at;
        uint32_t woken_rank, woken_core;
        uint64_t woken_at;
    };
    struct Fault {
        uint32_t rank;
        uint64_t at;
    };

    void begin(uint32_t num_ranks, uint32_t num_cores);
    void new_communicator(const std::vector<uint32_t>& members);  // processes of its ranks
    void end(uint64_t now);                                       // what is open ends now

    // Hooks. An actor is a number of Actors: hosts first, then the cores of their process. Ranks that are recorded are
    // processes; a seat is the number of a rank among those of all communicators, its peer a rank of the same one.
    void turn_begins() { running_ = kNone, executing_ = kNone; }
    void at(uint32_t actor, uint64_t ns, uint64_t progress);  // the running core does something
    void gives(uint32_t actor, uint64_t ns);                  // a copy to a tensor of the call
    void reads(uint32_t actor, uint64_t offset, uint64_t bytes);
    void collects(uint32_t actor, uint64_t offset, uint64_t bytes, uint64_t ns);
    void sleeps(uint32_t actor, uint64_t now, const twin::Waiting& waiting);
    void looks(uint32_t actor, uint64_t now);  // again, after it has slept or only given way
    void returns(uint32_t actor, uint64_t now);
    void changes(uint32_t sleeper, uint64_t offset, uint64_t bytes, uint64_t now);  // a sleeper may have to see this
    void call_begins(uint32_t rank, const char* name, uint64_t now);
    void call_ends(uint32_t rank, uint64_t now);
    void pending(uint32_t seat, uint32_t queue, uint32_t count, uint64_t now);  // after a doorbell
    void fetches(uint32_t seat, uint32_t queue, uint32_t peer, uint32_t record, uint32_t index, uint64_t now);
    void executes(uint32_t seat, uint32_t record, uint64_t now);
    void completes(uint32_t seat, uint32_t record, uint64_t now);
    void leaves(uint32_t communicator, uint32_t flight, uint32_t from, uint32_t to, uint64_t offset, uint64_t bytes,
                uint64_t now);
    void arrives(uint32_t communicator, uint32_t flight, uint64_t now);
    void has_arrived() { arriving_ = kNone, completing_ = kNone; }
    void strikes(uint32_t rank, uint64_t now) { faults_.push_back({rank, now}); }

    uint32_t num_ranks() const { return num_ranks_; }
    uint32_t num_cores() const { return num_cores_; }
    const std::vector<Stage>& stages() const { return stages_; }
    const std::vector<Wait>& waits() const { return waits_; }
    const std::vector<Read>& data_reads() const { return reads_; }
    const std::vector<Call>& calls() const { return calls_; }
    const std::vector<Doorbell>& doorbells() const { return doorbells_; }
    const std::vector<Wqe>& wqes() const { return wqes_; }
    const std::vector<Write>& writes() const { return writes_; }
    const std::vector<WakeUp>& wake_ups() const { return wake_ups_; }
    const std::vector<Fault>& faults() const { return faults_; }

  private:
    struct Core {
        uint64_t progress = 0;
        uint32_t stage = kNone;  // open one, in stages_
        uint32_t wait = kNone;   // open one, in waits_
        uint32_t wake_up = kNone;
        std::vector<uint64_t> lines;
    };

    struct Seat {
        uint32_t communicator, process;
        std::vector<std::deque<uint32_t>> announced;  // by queue: doorbells of WQEs that are not fetched
        std::vector<uint32_t> wqe_of_record;
    };

    uint32_t rank_of(uint32_t actor) const { return actor / (num_cores_ + 1); }
    uint32_t core_of(uint32_t actor) const { return actor % (num_cores_ + 1) - 1; }
    uint64_t time(uint64_t now) const { return running_ == kNone || running_ns_ < now ? now : running_ns_; }

    uint32_t num_ranks_ = 0, num_cores_ = 0;
    std::vector<Core> cores_;  // by actor
    std::vector<uint32_t> open_calls_;
    std::vector<Seat> seats_;
    std::vector<std::vector<uint32_t>> members_;          // by communicator
    std::vector<std::vector<uint32_t>> write_of_flight_;  // by communicator
    uint32_t running_ = kNone;                            // actor
    uint64_t running_ns_ = 0;
    uint32_t executing_ = kNone, completing_ = kNone;  // WQE
    uint32_t arriving_ = kNone;                        // write
    std::vector<Stage> stages_;
    std::vector<Wait> waits_;
    std::vector<Read> reads_;
    std::vector<Call> calls_;
    std::vector<Doorbell> doorbells_;
    std::vector<Wqe> wqes_;
    std::vector<Write> writes_;
    std::vector<WakeUp> wake_ups_;
    std::vector<Fault> faults_;
};

}  // namespace ascend_deepep::sim
