// SPDX-License-Identifier: Apache-2.0
//
// The way of a call onto the device, and of its result back. Layer: framework, devices.
#include "framework/npu/launch_queue.h"

#include <chrono>
#include <cstring>
#include <exception>

#include "framework/runtime/status_payload.h"
#include "op_host/messages.h"

namespace ascend_deepep::npu {
namespace {

constexpr int32_t kSliceMs = 100;  // how long an interrupt waits at most

}  // namespace

LaunchQueue::LaunchQueue(const Acl& acl, std::shared_ptr<Endpoint> endpoint, const LaunchConfig& config,
                         Allocation workspace)
    : acl_(acl),
      endpoint_(std::move(endpoint)),
      config_(config),
      workspace_(std::move(workspace)),
      page_(reinterpret_cast<ControlPage*>(endpoint_->heap() + config.window_offset)),
      slots_(acl),
      late_(config.rank) {
    endpoint_->take(config_.window_offset, config_.window_bytes);
}

LaunchQueue::~LaunchQueue() {
    slots_.visit_all([&](TilingSlot& slot) { endpoint_->forget(slot.event); });
    endpoint_->release(config_.window_offset);
}

// Of one call in a task queue, which may also throw it away: behind an error torch_npu's runs nothing any more.
class LaunchQueue::Ticket {
  public:
    Ticket(std::shared_ptr<LaunchQueue> queue, OperationKind kind) : queue_(std::move(queue)), kind_(kind) {}
    ~Ticket() {
        if (!is_used_) queue_->dropped(kind_);
    }
    Ticket(const Ticket&) = delete;
    Ticket& operator=(const Ticket&) = delete;

    int run(void* stream, bool is_capturing, const Operation& operation) {
        is_used_ = true;
        return queue_->run(stream, is_capturing, operation);
    }

  private:
    std::shared_ptr<LaunchQueue> queue_;
    OperationKind kind_;
    bool is_used_ = false;
};

void LaunchQueue::submit(const CallStream& stream, const Operation& operation) {
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        ++num_submitted_;
        if (!stream.is_capturing) streams_.insert(stream.stream);
    }
    stream.enqueue(
        op_host::kind_name(operation.kind),
        [ticket = std::make_shared<Ticket>(shared_from_this(), operation.kind), at = stream.stream,
         is_capturing = stream.is_capturing, operation] { return ticket->run(at, is_capturing, operation); });
}

void LaunchQueue::dropped(OperationKind kind) {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++num_passed_on_;
    passed_on_.notify_all();
    if (is_stopped_) return;
    fail_locked(setup_failure(config_.rank, "rank " + std::to_string(config_.rank) +
                                                ": the stream's task queue dropped " + op_host::kind_name(kind) +
                                                " without running it, as it does behind an error of an earlier "
                                                "operation: look for that one, and make a new communicator"));
}

// On the caller's thread or on that of a task queue.
int LaunchQueue::run(void* stream, bool is_capturing, const Operation& operation) {
    const std::lock_guard<std::mutex> order(endpoint_->order_mutex());
    const std::lock_guard<std::mutex> lock(mutex_);
    ++num_passed_on_;
    passed_on_.notify_all();
    if (is_stopped_ || !failure_.ok()) return kAclSuccess;
    try {
        const DeviceScope on_device(acl_, config_.device);
        const RelaxedCapture relaxed(acl_, is_capturing);
        collect_locked();
        launch(stream, graph_of(stream, is_capturing), operation);
        return kAclSuccess;
    } catch (const std::exception& error) {  // of any kind: on a task queue's thread nobody would catch it
        fail_locked(setup_failure(config_.rank, std::string(op_host::kind_name(operation.kind)) + " on rank " +
                                                    std::to_string(config_.rank) + ": " + error.what()));
        const auto* of_device = dynamic_cast<const DeviceError*>(&error);
        return of_device == nullptr ? DeviceError::kNoDeviceCode : of_device->code;
    }
}

// A recording is known by its graph; a runtime that calls a stream recorded and names none has lost it.
void* LaunchQueue::graph_of(void* stream, bool is_capturing) const {
    if (!is_capturing) return nullptr;
    uint32_t status = 0;
    void* graph = nullptr;
    require_acl(acl_, acl_.capture_info(stream, &status, &graph), "aclmdlRICaptureGetInfo");
    if (status != kCaptureActive || graph == nullptr) {
        throw DeviceError("the stream is to be recorded and has capture status " + std::to_string(status) +
                          ": an earlier call has spoiled the recording");
    }
    return graph;
}

void LaunchQueue::launch(void* stream, void* graph, const Operation& operation) {
    TilingSlot& slot = slots_.take();
    slot.kind = operation.kind;
    slot.is_refused = operation.is_refused;
    std::memcpy(slot.host_tiling, operation.tiling.data(), kTilingBytes);
    endpoint_->await_previous(stream, graph);
    require_acl(
        acl_,
        acl_.memcpy_async(slot.device_tiling, kTilingBytes, slot.host_tiling, kTilingBytes, kHostToDevice, stream),
        "aclrtMemcpyAsync of tiling data");
    const bool is_dispatch = operation.kind == OperationKind::kDispatch;
    has_lost_launch_ = true;  // until its event is recorded
    (is_dispatch ? config_.kernels.dispatch_v2 : config_.kernels.combine_v2)(
        config_.num_cores, config_.kernels.ub_bytes, stream, slot.device_tiling);
    require_acl(acl_, acl_.memcpy_async(slot.letter, kLetterBytes, page_, kLetterBytes, kDeviceToHost, stream),
                "aclrtMemcpyAsync of the outcome");
    require_acl(acl_, acl_.record_event(slot.event, stream), "aclrtRecordEvent");
    endpoint_->launched(stream, slot.event, graph);
    slots_.started(slot, graph != nullptr);
    has_lost_launch_ = false;
}

void LaunchQueue::read(TilingSlot& slot, const Letter& letter) {
    const op_host::Status failure = failure_in(letter, config_.rank, config_.timeout_ms);
    if (!failure.ok()) {
        fail_locked(failure);
    } else if (is_refusal(letter.outcome.code)) {
        late_.note(letter.outcome.sequence, slot.kind, letter.outcome.refusal, slot.is_refused);
    }
}

void LaunchQueue::collect_locked() {
    slots_.collect([&](TilingSlot& slot) { read(slot, read_letter(slot.letter)); });
    slots_.visit_recorded([&](TilingSlot& slot) {
        // There may be thousands of them, and most have not run since: one word each tells.
        if (peek_sequence(slot.letter) == slot.next_sequence) return;
        Letter letter;
        if (!read_moving_letter(slot.letter, &letter)) return;  // it is being written: the next look sees it whole
        slot.next_sequence = letter.next_sequence;
        read(slot, letter);
    });
}

void LaunchQueue::collect(bool is_capturing) {
    const std::lock_guard<std::mutex> lock(mutex_);
    try {
        const DeviceScope on_device(acl_, config_.device);
        const RelaxedCapture relaxed(acl_, is_capturing);
        collect_locked();
    } catch (const DeviceError& error) {
        fail_locked(setup_failure(config_.rank, "rank " + std::to_string(config_.rank) + ": " + error.what()));
    }
}

op_host::Status LaunchQueue::failure() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return failure_;
}

void LaunchQueue::fail(const op_host::Status& failure) {
    const std::lock_guard<std::mutex> lock(mutex_);
    fail_locked(failure);
}

void LaunchQueue::fail_locked(const op_host::Status& failure) {
    if (failure_.ok()) failure_ = failure;
}

std::optional<LateRefusals::Notice> LaunchQueue::take_notice() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return late_.take();
}

bool LaunchQueue::drain(void* current_stream, bool (*interrupted)()) {
    std::set<void*> streams;
    uint64_t target = 0;
    {
        std::unique_lock<std::mutex> lock(mutex_);
        target = num_submitted_;
        while (
            !passed_on_.wait_for(lock, std::chrono::milliseconds(kSliceMs), [&] { return num_passed_on_ >= target; })) {
            if (interrupted()) return false;
        }
        streams = streams_;
    }
    const DeviceScope on_device(acl_, config_.device);
    streams.insert(current_stream);
    for (void* stream : streams) {
        int code = acl_.synchronize_stream(stream, kSliceMs);
        while (code == kAclStreamTimeout) {
            if (interrupted()) return false;
            code = acl_.synchronize_stream(stream, kSliceMs);
        }
        require_acl(acl_, code, "aclrtSynchronizeStreamWithTimeout");
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    // Only those that nothing was put on since; another thread may have begun to use more.
    if (num_submitted_ == target) streams_.clear();
    return true;
}

void LaunchQueue::stop() {
    const std::lock_guard<std::mutex> lock(mutex_);
    is_stopped_ = true;
}

bool LaunchQueue::is_running() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return slots_.num_running() != 0;
}

bool LaunchQueue::has_lost_launch() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return has_lost_launch_;
}

bool LaunchQueue::has_recorded() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return slots_.has_recorded();
}

void LaunchQueue::keep() {
    endpoint_->keep(shared_from_this());
}

}  // namespace ascend_deepep::npu
