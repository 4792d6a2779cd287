// SPDX-License-Identifier: Apache-2.0
// One planted fault, placed by a seed: to see that a broken fabric never ends in a wrong number. Layer: twin/fabric.
// It strikes one event of its kind, counted from arming: a WQE that carries a token copy to another rank, or a control
// message's block. Before and afterwards the fabric is sound, so the same command without the fault is exact.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ascend_deepep::twin {

enum class FaultKind : uint32_t {
    kNone = 0,
    kDropWqe,      // a WQE is completed, its token copy never lands. The receiver runs into its time-out.
    kFlipBit,      // one bit of the hidden state of a token copy flips on the way. The result differs from the oracle.
    kStaleFlag,    // a block of a token copy lands with the tag of the operation before. Time-out.
    kDropControl,  // one block of a control message to a peer is lost. Time-out.
    kSwapSlots,    // a token copy lands in the slot of the same number of another source, which is hereby overwritten.
                   // (Two slots of one source may change places: the header says whose token it is. That is harmless.)
                   // Time-out, or a corrupt block.
    kLateFlag,     // A1 broken: all flags of a token copy land, and what a reader finds in its first block is not the
                   // data (its complement). The result differs from the oracle, or a corrupt block.
    kBadCqe,       // a WQE is completed with an error status and moves nothing. An error of the fabric.
};

// "drop-wqe" and so on; kNone for anything else.
FaultKind fault_from_name(std::string_view name);
std::vector<std::string> fault_names();

// Which of `events` (>= 1) events a seed strikes.
uint64_t fault_event(uint64_t seed, uint64_t events);

class FaultInjector {
  public:
    // Strikes event number `event`, from 0. `seed` places what the kind leaves open: a bit, a block.
    void arm(FaultKind kind, uint64_t seed, uint64_t event);
    bool fired() const { return fired_; }

    // Called once for every event.
    FaultKind strike_copy();  // a token copy; kNone: it is sound
    bool strike_control();    // blocks of a control message; true: they are lost

    // A number below `limit`, drawn from the seed.
    uint64_t draw(uint64_t limit);

  private:
    bool is_turn();

    FaultKind kind_ = FaultKind::kNone;
    bool fired_ = false;
    uint64_t state_ = 0;
    uint64_t countdown_ = 0;
};

}  // namespace ascend_deepep::twin
