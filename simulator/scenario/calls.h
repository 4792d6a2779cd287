// SPDX-License-Identifier: Apache-2.0
// The two operators on a rank of a world, through op_host's checks and tiling. Layer: simulator.
#pragma once

#include "op_host/tiling.h"
#include "simulator/scenario/scenario.h"
#include "twin/runtime/kernel_table.h"

namespace ascend_deepep::simulator {

class Calls {
  public:
    Calls(const Channel& channel, sim::SimRank& rank, const twin::KernelTable& kernels)
        : channel_(channel), rank_(rank), kernels_(kernels) {}

    DispatchResult dispatch(const Batch& batch);
    CombineResult combine(const Batch& batch, const DispatchResult& dispatched,
                          const std::vector<uint16_t>& expert_out);
    OperationOutcome refuse(OperationKind kind, const Refusal& refusal);

  private:
    op_host::Machine machine() const;

    const Channel& channel_;
    sim::SimRank& rank_;
    const twin::KernelTable& kernels_;
};

// Of the triples: the trailer's place, in words. The tensor of a call is longer; kernels write up to here.
uint64_t trailer_word(uint64_t capacity_rows);

}  // namespace ascend_deepep::simulator
