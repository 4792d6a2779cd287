// SPDX-License-Identifier: Apache-2.0
// A world without chance: everything that takes turns goes on in a fixed order, and numbered points say where it could
// have been put off. A list of delays, each at a point, is one run. Layer: twin/sim; docs/twin.md, "Search".
// Points lie where another actor could notice: before accesses to words that somebody else also uses and somebody
// writes, before waits for pipes that still hold work, before steps of pipes, WQEs, hosts and pieces of remote writes.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "twin/sim/events.h"

namespace ascend_deepep::sim {

// What may happen at a point, as bits: what was to go on is put off, or something else comes first.
enum class Delay : uint8_t {
    kNone = 0,
    kBehind = 1,  // behind all that can go on now
    kLast = 2,    // until nothing else can move
    kPipes = 4,   // the core's own pipes first do all they can
    kTorn = 8,    // a load of a window is cut, and what is on its way comes in between
};

constexpr uint8_t kPutOff = static_cast<uint8_t>(Delay::kBehind) | static_cast<uint8_t>(Delay::kLast);

struct DelayAt {
    uint32_t point;
    Delay how;
};

// Which actors use a word of a rank's memory. Kept from run to run: a word that has become shared stays so.
class SharedWords {
  public:
    static constexpr uint32_t kMaxActors = 15;
    static constexpr uint32_t kFabric = kMaxActors;  // pieces of remote writes and completions

    // `line`: as SimRank counts them. True when a word became shared by this.
    bool touch(uint32_t actor, uint32_t rank, uint64_t line, uint64_t bytes, bool is_write);
    bool any(uint32_t rank, uint64_t line, uint64_t bytes) const;

  private:
    static constexpr uint64_t kWordBytes = 8;
    struct Word {
        uint16_t users = 0, writers = 0;
        bool is_shared() const { return writers != 0 && (users & (users - 1)) != 0; }
    };
    static uint32_t table_of(uint32_t rank, uint64_t line);
    std::vector<std::vector<Word>> tables_;  // by rank and stretch
};

class Choices {
  public:
    void begin(const std::vector<DelayAt>& delays);

    // The next point: what the run's list says of it, one of `alternatives` or nothing. One where nobody could notice
    // is numbered like all others, so that a list means the same whatever the search knows of shared words.
    Delay at(uint8_t alternatives, bool is_noticed = true);
    const std::vector<uint8_t>& points() const { return points_; }  // the alternatives of each; 0: nobody notices
    bool is_used_up() const { return next_delay_ == delays_.size(); }

    void touches(uint32_t actor, uint32_t rank, uint64_t line, uint64_t bytes, bool is_write) {
        has_learned_ |= words_.touch(actor, rank, line, bytes, is_write);
    }
    bool is_shared(uint32_t rank, uint64_t line, uint64_t bytes) const { return words_.any(rank, line, bytes); }
    // A word became shared since begin(): the points of this run were not all that there are.
    bool has_learned() const { return has_learned_; }

    // Places in the order: who has the smallest goes on next.
    uint64_t new_place() { return next_place_++; }

    // What has been put off.
    struct Late {  // an event
        Event event;
        uint64_t place;
    };
    struct Parked {  // an event, or an entry of Actors
        bool is_event;
        Event event;
        uint32_t entry;
    };
    // A1: the flag area of a block goes the way of data of the block that has been put off.
    Delay follows(const Event& event) const;
    void put_off(const Event& event, Delay how);
    void park(uint32_t entry) { parked_.push_back({false, {}, entry}); }
    bool has_late() const { return !late_.empty(); }
    uint64_t first_late() const { return late_.front().place; }
    Event take_late();
    bool has_parked() const { return !parked_.empty(); }
    Parked take_parked();

  private:
    std::vector<DelayAt> delays_;
    size_t next_delay_ = 0;
    std::vector<uint8_t> points_;
    SharedWords words_;
    bool has_learned_ = false;
    uint64_t next_place_ = 0;
    std::deque<Late> late_;
    std::deque<Parked> parked_;
};

}  // namespace ascend_deepep::sim
