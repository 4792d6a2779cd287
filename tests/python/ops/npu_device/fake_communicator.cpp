// SPDX-License-Identifier: Apache-2.0
//
// A communicator of target ascend950 whose launches run on the twin, once the task queue gets to them. Layer: tests.
#include <torch/library.h>

#include <map>

#include "fake_device.h"
#include "fake_torch_npu.h"
#include "framework/npu/kernels.h"
#include "framework/npu/ops/torch_stream.h"
#include "framework/runtime/process.h"
#include "op_host/messages.h"

namespace fake {
namespace {

using namespace ascend_deepep;
using op_host::Status;

class FakeCommunicator final : public Communicator {
  public:
    FakeCommunicator(std::unique_ptr<NameReservation> name, std::shared_ptr<Communicator> twin, int32_t device)
        : name_(std::move(name)), twin_(std::move(twin)), device_(device) {}

    std::string target() const override { return op_host::kNpuTarget; }
    int32_t device_index() const override { return device_; }

    Status check(const op_host::DispatchCall& call, op_host::DispatchShapes* shapes) override {
        return twin_->check(call, shapes);
    }
    Status check(const op_host::CombineCall& call) override { return twin_->check(call); }

    Status dispatch(const op_host::DispatchCall& call, const DispatchBuffers& buffers, uint32_t* num_rows) override {
        TORCH_CHECK(num_rows == nullptr, "a device cannot tell the number of rows at once");
        return enqueue("dispatch_v2", [twin = twin_, call, buffers] { return twin->dispatch(call, buffers, nullptr); });
    }
    Status combine(const op_host::CombineCall& call, const CombineBuffers& buffers) override {
        return enqueue("combine_v2", [twin = twin_, call, buffers] { return twin->combine(call, buffers); });
    }
    Status refuse(OperationKind kind, const Status& reason) override {
        log(std::string("refuse ") + op_host::kind_name(kind) + " on " + std::to_string(current_device()));
        return twin_->refuse(kind, reason);
    }

    Status health() const override { return twin_->health(); }
    Status synchronize() override { return health(); }
    void close() override { twin_->close(); }
    bool closed() const override { return twin_->closed(); }
    op_host::Machine machine() const override { return twin_->machine(); }
    const CommunicatorOptions& options() const override { return twin_->options(); }
    uint64_t window_bytes() const override { return twin_->window_bytes(); }
    std::vector<std::string> progress() const override { return twin_->progress(); }
    Counters counters() const override { return twin_->counters(); }
    std::string layout() const override { return twin_->layout(); }
    Status set_fault(const std::string& name, uint64_t seed, uint64_t events) override {
        return twin_->set_fault(name, seed, events);
    }
    bool fault_fired() const override { return twin_->fault_fired(); }
    Status start_trace(uint64_t max_events) override { return twin_->start_trace(max_events); }
    Status stop_trace(Trace* trace) override { return twin_->stop_trace(trace); }

  private:
    Status enqueue(const char* name, std::function<Status()> launch) {
        const npu::CallStream stream = npu::current_call_stream(device_);
        if (stream.is_capturing) log("capturing");
        stream.enqueue(name, [launch = std::move(launch)] { return launch().ok() ? 0 : 1; });
        return {};
    }

    std::unique_ptr<NameReservation> name_;
    std::shared_ptr<Communicator> twin_;
    int32_t device_;
};

std::map<std::string, std::shared_ptr<Communicator>>& communicators() {
    static auto* instance = new std::map<std::string, std::shared_ptr<Communicator>>;
    return *instance;
}

void make_communicator(const std::string& name, int64_t max_tokens, int64_t hidden, int64_t num_topk,
                       int64_t num_experts, int64_t device) {
    auto reservation = std::make_unique<NameReservation>(name, 0);
    NameReservation& published = *reservation;
    CommunicatorOptions options;
    options.name = name + " (twin)";
    options.limits = {1, uint32_t(max_tokens), uint32_t(hidden), uint32_t(num_topk), uint32_t(num_experts), 0};
    const auto twin = Communicator::create(options, [](const std::string& mine) { return std::vector{mine}; });
    const auto made = std::make_shared<FakeCommunicator>(std::move(reservation), twin, int32_t(device));
    published.publish(made);
    communicators()[name] = made;
}

}  // namespace
}  // namespace fake

// Launches of the device code, which no communicator here makes.
void ascend_deepep_launch_dispatch_v2(uint32_t /*cores*/, uint32_t /*bytes*/, void* /*stream*/, void* /*tiling*/) {
    TORCH_CHECK(false, "there is no device code here");
}
void ascend_deepep_launch_combine_v2(uint32_t /*cores*/, uint32_t /*bytes*/, void* /*stream*/, void* /*tiling*/) {
    TORCH_CHECK(false, "there is no device code here");
}

TORCH_LIBRARY_FRAGMENT(fake_npu, m) {
    m.def("make_communicator", &fake::make_communicator);
}
