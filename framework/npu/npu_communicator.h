// SPDX-License-Identifier: Apache-2.0
//
// The communicator whose ranks are Ascend 950 devices. Its calls only enqueue; docs/protocol.md, "Late results".
// Layer: framework, devices.
#ifndef ASCEND_DEEPEP_FRAMEWORK_NPU_NPU_COMMUNICATOR_H
#define ASCEND_DEEPEP_FRAMEWORK_NPU_NPU_COMMUNICATOR_H

#include <sys/types.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "framework/npu/launch_queue.h"
#include "framework/npu/page_reader.h"
#include "framework/runtime/communicator.h"
#include "framework/runtime/process.h"
#include "op_host/messages.h"
#include "op_host/tensor_device.h"

namespace ascend_deepep::npu {

// What a communicator needs of its surroundings. The two libraries are opened by the first communicator.
struct NpuEnvironment {
    const Acl& (*acl)();
    const Shmem& (*shmem)();
    Kernels kernels;
    StreamSource stream;
};

// Makes op_host::kNpuTarget a target of this process.
void register_npu_target(const NpuEnvironment& environment);

class NpuCommunicator final : public Communicator {
  public:
    NpuCommunicator(const CommunicatorOptions& options, std::unique_ptr<NameReservation> name, const Acl& acl,
                    StreamSource stream, std::shared_ptr<LaunchQueue> queue);
    ~NpuCommunicator() override;

    op_host::Status check(const op_host::DispatchCall& call, op_host::DispatchShapes* shapes) override;
    op_host::Status check(const op_host::CombineCall& call) override;
    op_host::Status dispatch(const op_host::DispatchCall& call, const DispatchBuffers& buffers,
                             uint32_t* num_rows) override;
    op_host::Status combine(const op_host::CombineCall& call, const CombineBuffers& buffers) override;
    op_host::Status refuse(OperationKind kind, const op_host::Status& reason) override;
    op_host::Status health() const override;
    op_host::Status failure() const override;
    op_host::Status synchronize() override;
    void close() override;
    bool closed() const override { return is_closed_.load(); }
    std::string target() const override { return op_host::kNpuTarget; }
    int32_t device_index() const override { return device_; }
    op_host::Machine machine() const override;
    const CommunicatorOptions& options() const override { return options_; }
    uint64_t window_bytes() const override { return options_.window_bytes; }
    std::vector<std::string> progress() const override;
    Counters counters() const override;
    std::string layout() const override { return op_host::copy_mode_name(copy_mode_.load()); }
    op_host::Status set_fault(const std::string& name, uint64_t seed, uint64_t events) override;
    bool fault_fired() const override { return false; }
    op_host::Status start_trace(uint64_t max_events) override;
    op_host::Status stop_trace(Trace* trace) override;

  private:
    // What lives until close(). Calls hold it while another thread closes.
    struct Parts {
        std::shared_ptr<LaunchQueue> queue;
        std::unique_ptr<PageReader> reader;
    };

    std::shared_ptr<Parts> parts() const;
    op_host::Status usable() const;
    op_host::Status begin_call(OperationKind kind);
    op_host::Status submit(OperationKind kind, const Operation& operation);
    op_host::Status stamp(const op_host::Status& status, OperationKind kind) const;
    op_host::Status device_failure(const std::string& text) const;
    op_host::Status look(const Parts& parts) const;
    bool end_running(Parts& parts);

    CommunicatorOptions options_;
    const pid_t pid_;
    const Acl& acl_;
    const int32_t device_;
    StreamSource stream_;
    std::atomic<bool> is_closed_{false};
    std::atomic<CopyMode> copy_mode_{CopyMode::kPerRank};

    mutable std::mutex mutex_;  // guards what follows
    std::unique_ptr<NameReservation> name_;
    std::shared_ptr<Parts> parts_;
    op_host::Status owed_;  // to be raised by the call in progress, which is made nevertheless
    uint64_t num_operations_ = 0;
};

}  // namespace ascend_deepep::npu

#endif  // ASCEND_DEEPEP_FRAMEWORK_NPU_NPU_COMMUNICATOR_H
