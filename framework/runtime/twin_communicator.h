// SPDX-License-Identifier: Apache-2.0
//
// The communicator whose ranks are processes of one host, running the kernels on the twin. Layer: framework.
#ifndef ASCEND_DEEPEP_FRAMEWORK_RUNTIME_TWIN_COMMUNICATOR_H
#define ASCEND_DEEPEP_FRAMEWORK_RUNTIME_TWIN_COMMUNICATOR_H

#include <sys/types.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "framework/runtime/communicator.h"
#include "framework/runtime/process.h"
#include "framework/runtime/targets.h"
#include "op_host/messages.h"
#include "op_host/tiling.h"
#include "twin/fabric/fabric.h"
#include "twin/runtime/capture.h"
#include "twin/runtime/kernel_table.h"

namespace ascend_deepep {

// Everything that lives from rendezvous to close(): local memory, then the fabric that uses it.
struct TwinResources {
    std::unique_ptr<twin::Memory> memory;  // window table, tiling data, workspace, queue table and rings
    std::unique_ptr<twin::Fabric> fabric;
    uint64_t* window_table = nullptr;
    uint8_t* tiling = nullptr;
    uint8_t* workspace = nullptr;
    const twin::KernelTable* kernels = nullptr;
};

class TwinCommunicator final : public Communicator {
  public:
    TwinCommunicator(const CommunicatorOptions& options, std::unique_ptr<NameReservation> name,
                     std::shared_ptr<TwinResources> resources);
    ~TwinCommunicator() override;

    op_host::Status check(const op_host::DispatchCall& call, op_host::DispatchShapes* shapes) override;
    op_host::Status check(const op_host::CombineCall& call) override;
    op_host::Status dispatch(const op_host::DispatchCall& call, const DispatchBuffers& buffers,
                             uint32_t* num_rows) override;
    op_host::Status combine(const op_host::CombineCall& call, const CombineBuffers& buffers) override;
    op_host::Status refuse(OperationKind kind, const op_host::Status& reason) override;
    op_host::Status health() const override;
    op_host::Status synchronize() override { return health(); }  // calls have ended when they return
    void close() override;
    bool closed() const override { return is_closed_.load(); }
    std::string target() const override { return op_host::kTwinTarget; }
    op_host::Machine machine() const override;
    const CommunicatorOptions& options() const override { return options_; }
    uint64_t window_bytes() const override { return options_.window_bytes; }
    std::vector<std::string> progress() const override;
    Counters counters() const override;
    std::string layout() const override { return op_host::copy_mode_name(copy_mode_.load()); }
    op_host::Status set_fault(const std::string& name, uint64_t seed, uint64_t events) override;
    bool fault_fired() const override;
    op_host::Status start_trace(uint64_t max_events) override;
    op_host::Status stop_trace(Trace* trace) override;

  private:
    class Call;

    op_host::Status run(OperationKind kind, void (*fill)(const TwinCommunicator&, TwinResources&, const void*),
                        const void* arguments, std::vector<twin::GmRange> ranges, std::vector<CallInput> inputs,
                        uint32_t* num_rows);
    op_host::Status outcome(OperationKind kind, TwinResources& resources, uint64_t sequence, double seconds) const;
    op_host::Machine machine(const TwinResources& resources) const;
    op_host::Status usable() const;
    op_host::Status stamp(const op_host::Status& status, OperationKind kind) const;
    void break_with(const op_host::Status& failure);
    void book(const TwinResources& resources);
    std::shared_ptr<TwinResources> resources() const;

    CommunicatorOptions options_;
    pid_t pid_;
    std::atomic<bool> is_closed_{false};
    std::atomic<CopyMode> copy_mode_{CopyMode::kPerRank};
    std::atomic<bool> is_busy_{false};

    std::atomic<bool> is_traced_{false};
    std::unique_ptr<twin::Capture> capture_;  // of whoever has set is_busy_, as what follows
    std::vector<CallTrace> traced_calls_;

    mutable std::mutex mutex_;  // guards what follows
    std::unique_ptr<NameReservation> name_;
    std::shared_ptr<TwinResources> resources_;
    op_host::Status first_failure_;
    Counters counters_;  // operations and role_ns so far; after close() everything
};

}  // namespace ascend_deepep

#endif  // ASCEND_DEEPEP_FRAMEWORK_RUNTIME_TWIN_COMMUNICATOR_H
