// SPDX-License-Identifier: Apache-2.0
// Remote writes of MTE3 and URMA alike: they leave whole and become visible in pieces, each at a moment of its own.
// Layer: twin/sim. A1: the flag area of a block after its data. Nothing else orders pieces, blocks or writes. Where
// links are limited, blocks leave one after another, and then take their way.
#pragma once

#include <cstdint>
#include <vector>

#include "twin/sim/actors.h"
#include "twin/sim/arena.h"
#include "twin/sim/checks/blocks.h"
#include "twin/sim/lines.h"

namespace ascend_deepep::sim {

class Wire {
  public:
    // `members`: processes of the ranks.
    Wire(Shared& shared, Actors& actors, WindowArena& arena, std::vector<uint32_t> members);

    // The bytes at `source` are taken now, and none becomes visible up to `after_ns`. When the last one will be
    // visible.
    uint64_t put(const RemoteWrite& write, const uint8_t* source, uint64_t after_ns = 0);
    void piece(const Event& event);
    // Reports a write, remote or local, that meets one under way.
    void check_overtaking(const RemoteWrite& write);

    // Writes of the rank that are not wholly visible.
    uint32_t in_air(uint32_t rank) const { return in_air_[rank]; }
    // When the abort message of `from` became visible to `to`, the first time; 0: it has not.
    uint64_t told_at(uint32_t from, uint32_t to) const { return told_at_[from * arena_.num_ranks() + to]; }
    uint64_t num_writes() const { return num_writes_; }
    // Of these from one rank to another, those into a dispatch half: copies of tokens.
    uint64_t num_copies(uint32_t from, uint32_t to) const { return num_copies_[from * arena_.num_ranks() + to]; }
    uint32_t number() const { return number_; }
    uint32_t process_of(uint32_t rank) const { return members_[rank]; }

  private:
    struct Flight {
        RemoteWrite write;
        uint32_t pieces_left = 0;
        std::vector<uint8_t> data;
    };

    struct Link {
        uint64_t block_ns = 0;
        uint64_t free_at = 0;  // when all blocks so far have left
    };

    uint32_t new_flight(const RemoteWrite& write, const uint8_t* source);
    // Nanoseconds that a fault adds; false: the write is lost.
    bool pass_fault(const RemoteWrite& write, uint64_t* extra_ns);
    // Sends block `block` of a flight. When it will be visible.
    uint64_t send_block(uint32_t flight, uint64_t block, uint64_t extra_ns);

    Shared& shared_;
    Actors& actors_;
    WindowArena& arena_;
    std::vector<uint32_t> members_;
    uint32_t number_;  // of the communicator
    std::vector<Flight> flights_;
    std::vector<uint32_t> free_;
    std::vector<uint32_t> in_air_;
    std::vector<uint64_t> told_at_;
    std::vector<uint64_t> num_copies_;
    std::vector<Link> links_;  // by sender and receiver
    uint64_t num_writes_ = 0;
};

}  // namespace ascend_deepep::sim
