// SPDX-License-Identifier: Apache-2.0
//
// Calls of a communicator of devices: what is known before a call, the launch, and looking at it. Layer: framework,
// devices.
#include "framework/npu/npu_communicator.h"

#include <unistd.h>

#include <chrono>
#include <thread>

#include "contract/tag.h"
#include "framework/runtime/status_payload.h"
#include "op_host/check.h"
#include "op_host/messages.h"

namespace ascend_deepep::npu {
namespace {

constexpr int32_t kLookMs = 1000;  // for a copy of the control page
constexpr int32_t kCloseMs = 100;  // for each of the words that close() stores
constexpr int32_t kEndMs = 600;    // for kernels to end once they are told

}  // namespace

NpuCommunicator::NpuCommunicator(const CommunicatorOptions& options, std::unique_ptr<NameReservation> name,
                                 const Acl& acl, StreamSource stream, std::shared_ptr<LaunchQueue> queue)
    : options_(options),
      pid_(::getpid()),
      acl_(acl),
      device_(queue->config().device),
      stream_(std::move(stream)),
      name_(std::move(name)),
      parts_(std::make_shared<Parts>()) {
    parts_->reader = std::make_unique<PageReader>(acl, queue->config().device, queue->page());
    parts_->queue = std::move(queue);
}

NpuCommunicator::~NpuCommunicator() {
    close();
}

std::shared_ptr<NpuCommunicator::Parts> NpuCommunicator::parts() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return parts_;
}

op_host::Status NpuCommunicator::stamp(const op_host::Status& status, OperationKind kind) const {
    return ascend_deepep::stamp(status, options_.rank, kind);
}

op_host::Status NpuCommunicator::device_failure(const std::string& text) const {
    return setup_failure(options_.rank,
                         "communicator '" + options_.name + "' on rank " + std::to_string(options_.rank) + ": " + text);
}

op_host::Status NpuCommunicator::usable() const {
    if (::getpid() != pid_) return inherited_communicator(options_.rank, options_.name, pid_);
    const std::shared_ptr<Parts> held = parts();
    if (held == nullptr) return closed_communicator(options_.rank, options_.name);
    return held->queue->failure();
}

// What earlier calls came to, as far as it is known by now. A refusal that is news ends this call in refuse mode; one
// that only passes on what this rank has raised for is raised by this call too, which is made nevertheless.
op_host::Status NpuCommunicator::begin_call(OperationKind kind) {
    const std::shared_ptr<Parts> held = ::getpid() == pid_ ? parts() : nullptr;
    if (held != nullptr) held->queue->collect(stream_(device_).is_capturing);
    const op_host::Status status = usable();
    if (!status.ok() || held == nullptr) return stamp(status, kind);
    const std::optional<LateRefusals::Notice> notice = held->queue->take_notice();
    if (!notice) return {};
    if (notice->must_pass_on) return notice->status;
    const std::lock_guard<std::mutex> lock(mutex_);
    owed_ = notice->status;
    return {};
}

op_host::Status NpuCommunicator::check(const op_host::DispatchCall& call, op_host::DispatchShapes* shapes) {
    const op_host::Status status = begin_call(OperationKind::kDispatch);
    if (!status.ok()) return status;
    return stamp(op_host::check_dispatch(options_.limits, options_.rank, call, shapes), OperationKind::kDispatch);
}

op_host::Status NpuCommunicator::check(const op_host::CombineCall& call) {
    const op_host::Status status = begin_call(OperationKind::kCombine);
    if (!status.ok()) return status;
    return stamp(op_host::check_combine(options_.limits, options_.rank, call), OperationKind::kCombine);
}

op_host::Machine NpuCommunicator::machine() const {
    op_host::Machine machine{};
    const std::shared_ptr<Parts> held = parts();
    if (held == nullptr) return machine;
    machine.window_table = held->queue->endpoint().window_table();
    machine.queue_table = held->queue->endpoint().queue_table();
    machine.workspace = held->queue->workspace();
    machine.rank = options_.rank;
    machine.num_cores = options_.num_cores;
    machine.timeout_cycles = uint64_t{options_.timeout_ms} * op_host::kCyclesPerMs;
    machine.window_offset = held->queue->config().window_offset;
    machine.queues_per_peer = options_.queues_per_peer;
    machine.roles = options_.role_counts;
    return machine;
}

op_host::Status NpuCommunicator::submit(OperationKind kind, const Operation& operation) {
    op_host::Status status = usable();
    if (!status.ok()) return stamp(status, kind);
    const std::shared_ptr<Parts> held = parts();
    if (held == nullptr) return stamp(usable(), kind);
    held->queue->submit(stream_(device_), operation);
    const std::lock_guard<std::mutex> lock(mutex_);
    ++num_operations_;
    if (!operation.is_refused) std::swap(status, owed_);
    return status;
}

op_host::Status NpuCommunicator::dispatch(const op_host::DispatchCall& call, const DispatchBuffers& buffers,
                                          uint32_t* num_rows) {
    if (num_rows != nullptr) *num_rows = 0;
    Operation operation;
    operation.kind = OperationKind::kDispatch;
    op_host::make_dispatch_tiling(options_.limits, machine(), call, addresses(buffers), operation.as<DispatchTiling>());
    copy_mode_ = static_cast<CopyMode>(operation.as<DispatchTiling>()->copy_mode);
    return submit(operation.kind, operation);
}

op_host::Status NpuCommunicator::combine(const op_host::CombineCall& call, const CombineBuffers& buffers) {
    Operation operation;
    operation.kind = OperationKind::kCombine;
    op_host::make_combine_tiling(options_.limits, machine(), options_.combine_engine, call, addresses(buffers),
                                 operation.as<CombineTiling>());
    return submit(operation.kind, operation);
}

op_host::Status NpuCommunicator::refuse(OperationKind kind, const op_host::Status& reason) {
    if (reason.record.code != Code::kOk) return reason;  // a failure: nobody waits for this rank any more
    Operation operation;
    operation.kind = kind;
    operation.is_refused = true;
    if (kind == OperationKind::kDispatch) {
        op_host::make_refusal_tiling(options_.limits, machine(), reason.refusal, operation.as<DispatchTiling>());
    } else {
        op_host::make_refusal_tiling(options_.limits, machine(), options_.combine_engine, reason.refusal,
                                     operation.as<CombineTiling>());
    }
    const op_host::Status status = submit(kind, operation);
    return status.ok() ? stamp(reason, kind) : status;
}

// Reads the control page past whatever runs.
op_host::Status NpuCommunicator::look(const Parts& parts) const {
    const bool is_capturing = stream_(device_).is_capturing;
    parts.queue->collect(is_capturing);
    const op_host::Status known = parts.queue->failure();
    if (!known.ok()) return known;
    if (!is_capturing) {  // a wait would spoil a recording
        try {
            const std::vector<uint8_t> page = parts.reader->read(kLetterBytes, kLookMs);
            const op_host::Status failure = failure_in(read_letter(page.data()), options_.rank, options_.timeout_ms);
            if (!failure.ok()) parts.queue->fail(failure);
        } catch (const DeviceError& error) {
            parts.queue->fail(device_failure(error.what()));
        }
    }
    const op_host::Status failure = parts.queue->failure();
    if (!failure.ok()) return failure;
    const std::optional<LateRefusals::Notice> notice = parts.queue->take_notice();
    return notice ? notice->status : op_host::Status{};
}

op_host::Status NpuCommunicator::health() const {
    const std::shared_ptr<Parts> held = ::getpid() == pid_ ? parts() : nullptr;
    return held == nullptr ? op_host::Status{} : look(*held);
}

op_host::Status NpuCommunicator::failure() const {
    const std::shared_ptr<Parts> held = ::getpid() == pid_ ? parts() : nullptr;
    if (held == nullptr) return {};
    held->queue->collect(stream_(device_).is_capturing);
    return held->queue->failure();
}

op_host::Status NpuCommunicator::synchronize() {
    const op_host::Status status = usable();
    if (!status.ok()) return status;
    const std::shared_ptr<Parts> held = parts();
    const CallStream stream = stream_(device_);
    if (held == nullptr || stream.is_capturing) {
        return own_refusal(
            options_.rank, Code::kNotEqual, Field::kGroupEp, 1, 0,
            "synchronize() of communicator '" + options_.name +
                "' while a graph is recorded, or it is closed: a recording cannot wait, call it behind it");
    }
    try {
        if (!held->queue->drain(stream.stream, &interrupt_pending)) return {};  // the caller's signal is raised instead
    } catch (const DeviceError& error) {
        held->queue->fail(device_failure(error.what()));
    }
    return look(*held);
}

std::vector<std::string> NpuCommunicator::progress() const {
    std::vector<std::string> stages;
    const std::shared_ptr<Parts> held = ::getpid() == pid_ ? parts() : nullptr;
    if (held == nullptr || stream_(device_).is_capturing) return stages;
    try {
        const std::vector<uint8_t> bytes = held->reader->read(sizeof(ControlPage), kLookMs);
        const auto* page = reinterpret_cast<const ControlPage*>(bytes.data());
        for (uint32_t core = 0; core < options_.num_cores; ++core) {
            const uint64_t word = page->cores[core].progress;
            stages.emplace_back(op_host::stage_name(word == 0 ? Stage::kNone : static_cast<Stage>(flag_value(word))));
        }
    } catch (const DeviceError& error) {
        held->queue->fail(device_failure(error.what()));
    }
    return stages;
}

Counters NpuCommunicator::counters() const {
    Counters counters;
    counters.role_ns.assign(kNumStages, 0);
    const std::lock_guard<std::mutex> lock(mutex_);
    counters.operations = num_operations_;
    return counters;
}

// Tells what runs to end, and waits a moment for it. True: nothing of this communicator runs, or can run again.
bool NpuCommunicator::end_running(Parts& parts) {
    LaunchQueue& queue = *parts.queue;
    queue.stop();
    queue.collect(true);  // another thread may be recording, or this one with another communicator
    const bool has_recorded = queue.has_recorded();
    const bool has_lost = queue.has_lost_launch();
    if (!queue.is_running() && !has_recorded && !has_lost) return true;
    try {
        if (queue.is_running() || has_lost) {
            const uint64_t word = (uint64_t{static_cast<uint32_t>(Code::kPeerAborted)} << 32) | (options_.rank + 1);
            parts.reader->write(offsetof(ControlPage, abort_word), word, kCloseMs);
        }
        // A replay after this ends at once and moves nothing.
        if (has_recorded) parts.reader->write(offsetof(ControlPage, state.is_broken), 1, kCloseMs);
    } catch (const DeviceError&) {
        return false;  // a device that does not answer: its memory stays as it is
    }
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(kEndMs);
    while (queue.is_running() && std::chrono::steady_clock::now() < deadline) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        queue.collect(true);
    }
    return !queue.is_running() && !has_recorded && !has_lost;
}

void NpuCommunicator::close() {
    if (is_closed_.exchange(true)) return;
    std::shared_ptr<Parts> held;
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        held = std::move(parts_);
        parts_.reset();
        name_.reset();
    }
    // A forked child has no device: its copies are left alone.
    if (::getpid() != pid_) {
        new std::shared_ptr<Parts>(std::move(held));
        return;
    }
    try {
        // Streams and events are destroyed and memory is freed, which a recording in progress stands only so.
        const RelaxedCapture relaxed(acl_, true);
        if (!end_running(*held)) held->queue->keep();
        held.reset();
    } catch (const DeviceError&) {
        held->queue->keep();  // a runtime that is gone, at the end of a process: what was its own stays as it is
    }
}

op_host::Status NpuCommunicator::set_fault(const std::string& name, uint64_t, uint64_t) {
    return own_refusal(options_.rank, Code::kNotImplemented, Field::kNone, 0, 0,
                       "fault '" + name +
                           "' on a device: faults are planted on the twin, make the communicator with "
                           "target='twin'");
}

op_host::Status NpuCommunicator::start_trace(uint64_t) {
    return own_refusal(options_.rank, Code::kOutOfRange, Field::kNone, 0, 0,
                       "a trace of a device is its profiler's: run the program under `msprof --output=DIR "
                       "--application=\"python ...\"`, then `ascend-deepep trace --from-msprof DIR`");
}

op_host::Status NpuCommunicator::stop_trace(Trace*) {
    return start_trace(0);
}

}  // namespace ascend_deepep::npu
