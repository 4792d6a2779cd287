// SPDX-License-Identifier: Apache-2.0
// One fault of a world: what it does, where and when. Layer: twin/sim; docs/twin.md, "Simulator".
// It is planted before the run and strikes by counting, so that the same seed strikes the same event.
#pragma once

#include <cstdint>
#include <string_view>

#include "twin/sim/random.h"

namespace ascend_deepep::sim {

enum class SimFault : uint32_t {
    kNone = 0,
    kRankDies,     // the process of `rank` ends at step `at`; peers notice by looking
    kCoreStalls,   // core `core` of `rank` stands still for `ns` from step `at` on
    kLinkCut,      // writes of `rank` to `peer` from number `at` on are lost, WQEs completed
    kLinkSlow,     // writes of `rank` to `peer` take `ns` longer
    kBadCqe,       // WQE number `at` of `rank` fails with an error status and moves nothing
    kWqeLost,      // WQE number `at` of `rank` moves nothing; `is_silent`: nor does it complete
    kLateWrite,    // remote write number `at` of `rank` becomes visible `ns` later
    kLateProcess,  // `rank` makes its first call `ns` after the others
    kCount
};
constexpr uint32_t kNumSimFaults = static_cast<uint32_t>(SimFault::kCount);

constexpr std::string_view sim_fault_name(SimFault fault) {
    constexpr std::string_view kNames[kNumSimFaults] = {"none",     "rank-dies",  "core-stalls",
                                                        "link-cut", "link-slow",  "bad-cqe",
                                                        "wqe-lost", "late-write", "late-process"};
    return kNames[static_cast<uint32_t>(fault)];
}

// kCount: no fault has this name.
constexpr SimFault sim_fault_from_name(std::string_view name) {
    uint32_t kind = 0;
    while (kind < kNumSimFaults && sim_fault_name(static_cast<SimFault>(kind)) != name)
        ++kind;
    return static_cast<SimFault>(kind);
}

struct FaultPlan {
    SimFault kind = SimFault::kNone;
    uint32_t rank = 0;
    uint32_t peer = 0;  // another rank, where the kind has one
    uint32_t core = 0;
    uint64_t at = 0;
    uint32_t at_permille = 0;  // of a rank's death: not 0, and `at` is this part of the steps of the world without it
    uint64_t ns = 0;
    bool is_silent = false;
    bool has_struck = false;
    bool is_over = false;      // what it broke works again
    uint64_t counted = 0;      // events of its kind so far
    uint32_t struck_peer = 0;  // of a fault of a WQE or a write that has struck: whom that was for
    // Of a fault of a WQE that has struck: whose it was.
    uint32_t struck_communicator = 0;
    uint64_t struck_sequence = 0;

    // Operations may fail after it has struck. The others only delay.
    bool is_lethal(uint64_t timeout_ns) const {
        switch (kind) {
            case SimFault::kNone:
            case SimFault::kLinkSlow:
            case SimFault::kCount:
                return false;
            case SimFault::kCoreStalls:
            case SimFault::kLateWrite:
            case SimFault::kLateProcess:
                return ns > timeout_ns / 4;
            case SimFault::kRankDies:
            case SimFault::kLinkCut:
            case SimFault::kBadCqe:
            case SimFault::kWqeLost:
                return true;
        }
        return false;
    }
};

// A fault for a world of that size, of kind `forced` if that is one. Worlds of one rank get one that needs no peer.
FaultPlan draw_fault(Random& random, uint32_t num_ranks, uint32_t num_cores, uint64_t timeout_ns,
                     SimFault forced = SimFault::kNone);

}  // namespace ascend_deepep::sim
