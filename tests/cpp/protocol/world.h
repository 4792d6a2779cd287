// SPDX-License-Identifier: Apache-2.0
// Ranks as threads of one process: real windows, engine, tiling and kernels, without rendezvous and framework.
// Layer: tests. What this shows needs no torch, so it also runs under sanitizers and on other architectures.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "op_host/tiling.h"
#include "simulator/scenario/batch.h"
#include "twin/fabric/fabric.h"
#include "twin/runtime/kernel_table.h"

namespace ascend_deepep::test {

using namespace simulator;  // batches, results, the oracle

struct WorldOptions {
    CommunicatorLimits limits{};
    uint32_t num_cores = 8;
    uint32_t queue_depth = 64;
    uint32_t queues_per_peer = 1;
    CombineEngine engine = CombineEngine::kMte;
    std::string policy = "fast";
    uint64_t tag_base = uint64_t{0x1234567} << 32;
    uint64_t timeout_ms = 20000;
};

// One rank: its machine, and the two operators on it.
class RankMachine {
  public:
    RankMachine(const WorldOptions& options, uint32_t rank, const std::vector<int>& window_files);

    DispatchResult dispatch(const Batch& batch);
    CombineResult combine(const Batch& batch, const DispatchResult& dispatched,
                          const std::vector<uint16_t>& expert_out);
    // A call as its test describes it. `ranges`: what it may touch.
    OperationOutcome dispatch(const op_host::DispatchCall& call, const op_host::DispatchAddresses& addresses,
                              std::vector<twin::GmRange> ranges);
    OperationOutcome combine(const op_host::CombineCall& call, const op_host::CombineAddresses& addresses,
                             std::vector<twin::GmRange> ranges);
    // The last call once more from its recorded argument block, into the same buffers.
    OperationOutcome replay();
    OperationOutcome refuse(OperationKind kind, const Refusal& refusal);

    uint32_t rank() const { return rank_; }
    twin::Fabric& fabric() { return *fabric_; }

  private:
    op_host::Machine machine() const;
    void launch(OperationKind kind, const void* tiling, size_t bytes, std::vector<twin::GmRange> ranges);

    WorldOptions options_;
    uint32_t rank_;
    twin::Memory memory_;
    std::unique_ptr<twin::Fabric> fabric_;
    std::vector<uint64_t> window_table_;
    uint8_t* workspace_ = nullptr;
    const twin::KernelTable* kernels_;
    OperationKind kind_ = OperationKind::kDispatch;
    std::vector<uint64_t> argument_block_;    // tiling data of the last call
    std::vector<twin::GmRange> call_ranges_;  // what it may touch
};

// Runs `body` on every rank, each on a thread of its own; exceptions fail the test that runs it.
void run_world(const WorldOptions& options, const std::function<void(RankMachine&)>& body);

}  // namespace ascend_deepep::test
