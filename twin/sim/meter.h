// SPDX-License-Identifier: Apache-2.0
// Counts what the cores of a world do, by kernel, core and stage, over all calls. Layer: twin/sim.
// Like a timeline it only listens: no decision depends on it, and it leaves the fingerprint alone. What it counts for a
// stage begins with the store that makes the stage readable; what comes before the first one of a call counts for the
// last stage of the call before.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "contract/window_layout.h"

namespace ascend_deepep::sim {

class Meter {
  public:
    enum class Count : uint32_t {
        kTagLoads,      // scalar loads of the control ring: is a message here?
        kAbortLoads,    // of the abort cells
        kPageLoads,     // of the control page: local flags, the abort word
        kOtherLoads,    // of workspace, queues and tensors
        kStores,        // scalar stores, doorbells left out
        kDoorbells,     // stores to registers, of SQ and CQ alike
        kAtomics,       // of scalar code
        kBarriers,      // of scalar code
        kCopies,        // between GM and UB
        kSimtAccesses,  // to GM, of all threads
        kPosted,        // control messages written, to the own window too
        kPostedBytes,   // of these, blocks as they are on the wire
        kRead,          // control messages read
        kPolls,         // looks that found nothing new: the core then slept until something changed
        kWaitNs,        // asleep
        kStageNs,       // in the stage, asleep or not, as the core has booked it in the control page
        kCount
    };
    static constexpr uint32_t kNumCounts = static_cast<uint32_t>(Count::kCount);
    static constexpr std::string_view kNames[] = {
        "tag_loads", "abort_loads",   "page_loads", "other_loads",  "stores", "doorbells", "atomics", "barriers",
        "copies",    "simt_accesses", "posted",     "posted_bytes", "read",   "polls",     "wait_ns", "stage_ns"};
    static_assert(sizeof(kNames) / sizeof(kNames[0]) == kNumCounts);
    using Counts = std::array<uint64_t, kNumCounts>;

    struct Kernel {
        std::string name;
        std::vector<uint64_t> calls;    // by rank
        std::vector<uint64_t> call_ns;  // by rank, of all its calls
        std::vector<uint64_t> wqes;     // by rank, read from its rings by the engine
        std::vector<Counts> counts;     // [rank][core][stage]
    };

    void begin(uint32_t num_ranks, uint32_t num_cores);

    // Hooks. `core`: index on its rank.
    void call_begins(uint32_t rank, const std::string& kernel, uint64_t now);
    void call_ends(uint32_t rank, const StageCycles* times, uint64_t now);
    void at(uint32_t rank, uint32_t core, uint32_t stage) { stages_[rank * num_cores_ + core] = stage; }
    void add(uint32_t rank, uint32_t core, Count count, uint64_t number = 1) {
        add(rank, core, stages_[rank * num_cores_ + core], count, number);
    }

    void wqe(uint32_t rank) { ++kernels_[running_[rank]].wqes[rank]; }

    uint32_t num_ranks() const { return num_ranks_; }
    uint32_t num_cores() const { return num_cores_; }
    const std::vector<Kernel>& kernels() const { return kernels_; }
    const Counts& of(const Kernel& kernel, uint32_t rank, uint32_t core, uint32_t stage) const {
        return kernel.counts[index(rank, core, stage)];
    }

  private:
    size_t index(uint32_t rank, uint32_t core, uint32_t stage) const {
        return (size_t{rank} * num_cores_ + core) * kNumStages + stage;
    }
    void add(uint32_t rank, uint32_t core, uint32_t stage, Count count, uint64_t number) {
        kernels_[running_[rank]].counts[index(rank, core, stage)][static_cast<uint32_t>(count)] += number;
    }

    uint32_t num_ranks_ = 0, num_cores_ = 0;
    std::vector<uint32_t> running_;   // by rank: kernel of its last launch
    std::vector<uint64_t> began_ns_;  // by rank
    std::vector<uint32_t> stages_;    // by rank and core
    std::vector<Kernel> kernels_;     // in the order of their first launch
};

}  // namespace ascend_deepep::sim
