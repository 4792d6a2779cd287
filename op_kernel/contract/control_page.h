// SPDX-License-Identifier: Apache-2.0
//
// The control page at the start of a window: operation state, local flags, arrival counters, the outcome and error
// record of the last operation. Layer: contract. Zeroed once, at creation; nothing in it needs clearing afterwards.
// Words that different cores write never share a 64 B line (the scalar cache writes whole lines back).
#ifndef ASCEND_DEEPEP_CONTRACT_CONTROL_PAGE_H
#define ASCEND_DEEPEP_CONTRACT_CONTROL_PAGE_H

#include "contract/control_message.h"

namespace ascend_deepep {

// Read by every core at entry; written by the last core to arrive.
struct OperationState {
    uint64_t sequence;                 // number of the next operation
    uint64_t tag_base;                 // set at rendezvous
    uint64_t uses[kNumKinds];          // by kind: completed uses of the halves
    uint64_t min_consumed[kNumKinds];  // by kind: smallest `consumed` of any peer in the last operation (rule H)
    uint64_t is_broken;                // a failure ended the communicator
    uint64_t reserved;
};
static_assert(sizeof(OperationState) == 64, "one line");

// What the host reads after a launch.
struct OperationOutcome {
    uint64_t sequence;
    Code code;
    uint32_t num_rows;  // dispatch: rows received
    Refusal refusal;    // own, or a peer's
    uint64_t reserved;
};
static_assert(sizeof(OperationOutcome) == 64, "one line");

// Local flags and progress of one core. Written by that core alone.
struct CoreCell {
    uint64_t staged;    // flag: tokens staged by this core
    uint64_t seen;      // flag: this core has seen all its sources' messages (value: Code of the first objection)
    uint64_t partial;   // flag: rows in this cumsum core's range of local experts
    uint64_t placed;    // flag: this cumsum core has written its block bases
    uint64_t progress;  // {low tag word, Stage}: where the core is, readable while a kernel is stuck
    uint64_t min_consumed[kNumKinds];  // cumsum cores: smallest `consumed` of its sources
    uint64_t reserved;
};
static_assert(sizeof(CoreCell) == 64, "one line");

// Cycles a core spent in each stage of the last operation. Written by that core at exit.
constexpr uint32_t kNumStages = 16;
struct StageCycles {
    uint64_t cycles[kNumStages];
};
static_assert(static_cast<uint32_t>(Stage::kExit) < kNumStages, "one word per stage");

struct Line64 {
    uint64_t word;
    uint64_t reserved[7];
};
struct Line128 {
    uint64_t word;
    uint64_t reserved[15];
};

struct ControlPage {
    OperationState state;
    Line64 abort_word;     // 0, or Code << 32 | root + 1: set by the first core to fail or by the fabric
    Line128 arrivals;      // cores that have left the operation; atomics are served in 128 B sectors
    Line128 next_work;     // collect and reduce: next work item
    Line128 record_claim;  // 0, or 1 + core that writes the record
    Line64 route;          // flag: routing table ready (value: Code)
    Line64 validated;      // flag: combine inputs validated (value: Code)
    OperationOutcome outcome;
    ErrorRecord record;
    uint64_t padding[4];
    CoreCell cores[kMaxCores];
    StageCycles times[kMaxCores];
    uint64_t built[kMaxRanks * kMaxQueuesPerPeer];      // flag per queue: WQEs of this operation in the ring
    uint64_t completed[kMaxRanks * kMaxQueuesPerPeer];  // flag per queue: WQEs of this operation completed
};

constexpr uint64_t kPageBytes = 4096;
constexpr uint64_t kControlPageBytes = align_up(sizeof(ControlPage), kPageBytes);

static_assert(sizeof(ControlPage) % 64 == 0, "whole lines");
static_assert(__builtin_offsetof(ControlPage, cores) % 64 == 0, "a core's cell is one line");
static_assert(__builtin_offsetof(ControlPage, arrivals) % 128 == 0 &&
                  __builtin_offsetof(ControlPage, next_work) % 128 == 0 &&
                  __builtin_offsetof(ControlPage, record_claim) % 128 == 0,
              "a counter has a sector of its own");

}  // namespace ascend_deepep

#endif  // ASCEND_DEEPEP_CONTRACT_CONTROL_PAGE_H
