// SPDX-License-Identifier: Apache-2.0
// Layer: twin/sim.
#include "twin/sim/meter.h"

#include <algorithm>

namespace ascend_deepep::sim {

void Meter::begin(uint32_t num_ranks, uint32_t num_cores) {
    num_ranks_ = num_ranks;
    num_cores_ = num_cores;
    running_.assign(num_ranks, 0);
    began_ns_.assign(num_ranks, 0);
    stages_.assign(size_t{num_ranks} * num_cores, 0);
    kernels_.clear();
}

void Meter::call_begins(uint32_t rank, const std::string& kernel, uint64_t now) {
    const auto found =
        std::find_if(kernels_.begin(), kernels_.end(), [&kernel](const Kernel& known) { return known.name == kernel; });
    running_[rank] = static_cast<uint32_t>(found - kernels_.begin());
    if (found == kernels_.end()) {
        const std::vector<uint64_t> none(num_ranks_, 0);
        kernels_.push_back(
            {kernel, none, none, none, std::vector<Counts>(size_t{num_ranks_} * num_cores_ * kNumStages)});
    }
    began_ns_[rank] = now;
}

void Meter::call_ends(uint32_t rank, const StageCycles* times, uint64_t now) {
    Kernel& kernel = kernels_[running_[rank]];
    ++kernel.calls[rank];
    kernel.call_ns[rank] += now - began_ns_[rank];
    for (uint32_t core = 0; core < num_cores_; ++core) {
        for (uint32_t stage = 0; stage < kNumStages; ++stage)
            add(rank, core, stage, Count::kStageNs, times[core].cycles[stage]);
    }
}

}  // namespace ascend_deepep::sim
