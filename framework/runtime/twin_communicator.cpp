// SPDX-License-Identifier: Apache-2.0
//
// Calls of a twin communicator: who may call, the launch, and what came of it. Layer: framework.
#include "framework/runtime/twin_communicator.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <exception>

#include "contract/tag.h"
#include "framework/runtime/operation_size.h"
#include "framework/runtime/status_payload.h"
#include "framework/runtime/twin_call.h"
#include "op_host/check.h"
#include "op_host/geometry.h"
#include "op_host/messages.h"
#include "op_host/quant.h"
#include "twin/runtime/flag_access.h"
#include "twin/runtime/launch.h"

namespace ascend_deepep {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

uint64_t address(const void* p) {
    return reinterpret_cast<uint64_t>(p);
}

uint64_t tensor_bytes(const op_host::TensorInfo& tensor) {
    return static_cast<uint64_t>(op_host::num_elements(tensor)) * op_host::dtype_bytes(tensor.dtype);
}

struct DispatchRun {
    const op_host::DispatchCall* call;
    op_host::DispatchAddresses addresses;
};
struct CombineRun {
    const op_host::CombineCall* call;
    op_host::CombineAddresses addresses;
};
struct RefusalRun {
    OperationKind kind;
    Refusal refusal;
};

}  // namespace

TwinCommunicator::TwinCommunicator(const CommunicatorOptions& options, std::unique_ptr<NameReservation> name,
                                   std::shared_ptr<TwinResources> resources)
    : options_(options), pid_(::getpid()), name_(std::move(name)), resources_(std::move(resources)) {
    counters_.role_ns.assign(kNumStages, 0);
}

TwinCommunicator::~TwinCommunicator() {
    close();
}

std::shared_ptr<TwinResources> TwinCommunicator::resources() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return resources_;
}

op_host::Status TwinCommunicator::stamp(const op_host::Status& status, OperationKind kind) const {
    return ascend_deepep::stamp(status, options_.rank, kind);
}

op_host::Status TwinCommunicator::usable() const {
    if (::getpid() != pid_) return inherited_communicator(options_.rank, options_.name, pid_);
    if (is_closed_.load()) return closed_communicator(options_.rank, options_.name);
    return health();
}

op_host::Status TwinCommunicator::health() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return first_failure_;
}

op_host::Status TwinCommunicator::check(const op_host::DispatchCall& call, op_host::DispatchShapes* shapes) {
    op_host::Status status = usable();
    if (!status.ok()) return status;
    return stamp(op_host::check_dispatch(options_.limits, options_.rank, call, shapes), OperationKind::kDispatch);
}

op_host::Status TwinCommunicator::check(const op_host::CombineCall& call) {
    op_host::Status status = usable();
    if (!status.ok()) return status;
    return stamp(op_host::check_combine(options_.limits, options_.rank, call), OperationKind::kCombine);
}

op_host::Machine TwinCommunicator::machine() const {
    const std::shared_ptr<TwinResources> held = resources();
    return held == nullptr ? op_host::Machine{} : machine(*held);
}

op_host::Machine TwinCommunicator::machine(const TwinResources& resources) const {
    op_host::Machine machine{};
    machine.window_table = address(resources.window_table);
    machine.queue_table = resources.fabric->engine().queue_table();
    machine.workspace = address(resources.workspace);
    machine.rank = options_.rank;
    machine.num_cores = options_.num_cores;
    machine.queues_per_peer = options_.queues_per_peer;
    machine.roles = options_.role_counts;
    machine.timeout_cycles = uint64_t{options_.timeout_ms} * op_host::kCyclesPerMs;
    return machine;
}

op_host::Status TwinCommunicator::dispatch(const op_host::DispatchCall& call, const DispatchBuffers& buffers,
                                           uint32_t* num_rows) {
    const op_host::DispatchShapes shapes = op_host::dispatch_shapes(call);
    const DispatchRun run_arguments{&call, addresses(buffers)};
    copy_mode_ = op_host::quant_plan(call).copy_mode;
    const auto fill = [](const TwinCommunicator& self, TwinResources& resources, const void* arguments) {
        const auto& run = *static_cast<const DispatchRun*>(arguments);
        op_host::make_dispatch_tiling(self.options_.limits, self.machine(resources), *run.call, run.addresses,
                                      reinterpret_cast<DispatchTiling*>(resources.tiling));
    };
    const auto size = [](int64_t count, uint64_t bytes) { return static_cast<uint64_t>(count) * bytes; };
    return run(
        OperationKind::kDispatch, fill, &run_arguments,
        {{buffers.x, tensor_bytes(call.x)},
         {buffers.expert_ids, tensor_bytes(call.expert_ids)},
         {buffers.scales, tensor_bytes(call.scales)},
         {buffers.x_active_mask, tensor_bytes(call.x_active_mask)},
         {buffers.expert_scales, tensor_bytes(call.expert_scales)},
         {buffers.performance_info, tensor_bytes(call.performance_info)},
         {buffers.expand_x, size(shapes.capacity_rows * shapes.hidden, op_host::dtype_bytes(shapes.expand_dtype))},
         {buffers.dynamic_scales, size(shapes.dynamic_scales * std::max<int64_t>(shapes.scale_columns, 1),
                                       op_host::dtype_bytes(shapes.scale_dtype))},
         {buffers.expand_scales, size(shapes.expand_scales, sizeof(float))},
         {buffers.assist_info, size(shapes.assist_info, sizeof(int32_t))},
         {buffers.ep_recv_counts, size(shapes.ep_recv_counts, sizeof(int32_t))},
         {buffers.expert_token_nums, size(shapes.expert_token_nums, sizeof(int64_t))}},
        is_traced_ ? input_shapes(call) : std::vector<CallInput>{}, num_rows);
}

op_host::Status TwinCommunicator::combine(const op_host::CombineCall& call, const CombineBuffers& buffers) {
    const CombineRun run_arguments{&call, addresses(buffers)};
    const auto fill = [](const TwinCommunicator& self, TwinResources& resources, const void* arguments) {
        const auto& run = *static_cast<const CombineRun*>(arguments);
        op_host::make_combine_tiling(self.options_.limits, self.machine(resources), self.options_.combine_engine,
                                     *run.call, run.addresses, reinterpret_cast<CombineTiling*>(resources.tiling));
    };
    const uint64_t num_tokens = call.expert_ids.shape.empty() ? 0 : static_cast<uint64_t>(call.expert_ids.shape[0]);
    const uint64_t hidden = call.expand_x.shape.empty() ? 0 : static_cast<uint64_t>(call.expand_x.shape.back());
    return run(OperationKind::kCombine, fill, &run_arguments,
               {{buffers.expand_x, tensor_bytes(call.expand_x)},
                {buffers.expert_ids, tensor_bytes(call.expert_ids)},
                {buffers.assist_info, tensor_bytes(call.assist_info_for_combine)},
                {buffers.ep_send_counts, tensor_bytes(call.ep_send_counts)},
                {buffers.expert_scales, tensor_bytes(call.expert_scales)},
                {buffers.x_active_mask, tensor_bytes(call.x_active_mask)},
                {buffers.expand_scales, tensor_bytes(call.expand_scales)},
                {buffers.shared_expert_x, tensor_bytes(call.shared_expert_x)},
                {buffers.performance_info, tensor_bytes(call.performance_info)},
                {buffers.x_out, num_tokens * hidden * kElementBytes}},
               is_traced_ ? input_shapes(call) : std::vector<CallInput>{}, nullptr);
}

op_host::Status TwinCommunicator::refuse(OperationKind kind, const op_host::Status& reason) {
    if (reason.record.code != Code::kOk) return reason;  // a failure: nobody waits for this rank any more
    const RefusalRun run_arguments{kind, reason.refusal};
    const auto fill = [](const TwinCommunicator& self, TwinResources& resources, const void* arguments) {
        const auto& run = *static_cast<const RefusalRun*>(arguments);
        if (run.kind == OperationKind::kDispatch) {
            op_host::make_refusal_tiling(self.options_.limits, self.machine(resources), run.refusal,
                                         reinterpret_cast<DispatchTiling*>(resources.tiling));
        } else {
            op_host::make_refusal_tiling(self.options_.limits, self.machine(resources), self.options_.combine_engine,
                                         run.refusal, reinterpret_cast<CombineTiling*>(resources.tiling));
        }
    };
    const op_host::Status status = run(kind, fill, &run_arguments, {}, {}, nullptr);
    return status.record.code != Code::kOk ? status : stamp(reason, kind);
}

op_host::Status TwinCommunicator::run(OperationKind kind,
                                      void (*fill)(const TwinCommunicator&, TwinResources&, const void*),
                                      const void* arguments, std::vector<twin::GmRange> ranges,
                                      std::vector<CallInput> inputs, uint32_t* num_rows) {
    const auto start = Clock::now();
    const uint64_t called_ns = twin::Capture::now_ns();
    if (num_rows != nullptr) *num_rows = 0;
    Call call(*this);
    if (!call.status.ok()) return stamp(call.status, kind);
    const std::lock_guard<std::mutex> launch(launch_mutex());
    TwinResources& resources = *call.resources;
    fill(*this, resources, arguments);
    const bool is_dispatch = kind == OperationKind::kDispatch;
    twin::LaunchConfig config;
    config.num_cores = options_.num_cores;
    config.kernel_name = op_host::kind_name(kind);
    const uint64_t sequence = resources.fabric->control_page().state.sequence;
    op_host::Status status;
    resources.fabric->begin(kind, std::move(ranges),
                            is_dispatch ? operation_size(*reinterpret_cast<const DispatchTiling*>(resources.tiling))
                                        : operation_size(*reinterpret_cast<const CombineTiling*>(resources.tiling)));
    try {
        twin::launch(config, is_dispatch ? resources.kernels->dispatch_v2 : resources.kernels->combine_v2,
                     resources.tiling, *resources.fabric);
    } catch (const std::exception& fault) {
        status = setup_failure(options_.rank, std::string(op_host::kind_name(kind)) + " on rank " +
                                                  std::to_string(options_.rank) + ": " + fault.what());
        status.seconds = seconds_since(start);
        resources.fabric->set_state(twin::OwnerState::kFailed);
    }
    resources.fabric->end();
    if (capture_ != nullptr) {
        traced_calls_.push_back({kind, called_ns, twin::Capture::now_ns(), options_.num_cores, std::move(inputs)});
    }
    if (status.ok()) status = outcome(kind, resources, sequence, seconds_since(start));
    status = stamp(status, kind);
    book(resources);
    if (status.record.code != Code::kOk) break_with(status);
    if (status.ok() && num_rows != nullptr) *num_rows = resources.fabric->control_page().outcome.num_rows;
    return status;
}

op_host::Status TwinCommunicator::outcome(OperationKind kind, TwinResources& resources, uint64_t sequence,
                                          double seconds) const {
    const ControlPage& page = resources.fabric->control_page();
    const std::string where = std::string(op_host::kind_name(kind)) + " on rank " + std::to_string(options_.rank);
    if (page.outcome.sequence != sequence || page.state.sequence != sequence + 1) {
        return setup_failure(options_.rank, where + ": the kernel ended without closing its operation");
    }
    op_host::Status status;
    if (page.outcome.code == Code::kOk) return status;
    if (is_refusal(page.outcome.code)) {
        status.refusal = page.outcome.refusal;
        status.message = op_host::describe(status.refusal, kind, options_.rank);
        return status;
    }
    status.record = page.record;
    status.seconds = seconds;
    if (page.record.code == Code::kOk) {  // the abort word came from the fabric after the last core's last wait
        status.record.code = page.outcome.code;
        status.record.root = static_cast<uint32_t>(page.abort_word.word) - 1;
        status.record.rank = options_.rank;
        status.record.kind = static_cast<uint32_t>(kind);
        status.record.sequence = sequence;
    }
    const double limit_seconds = options_.timeout_ms / 1000.0;
    const bool is_own_abort = status.record.code == Code::kPeerAborted && status.record.root == options_.rank;
    if (is_own_abort && resources.fabric->was_interrupted()) {
        status.message = where + ": interrupted by a signal; the communicator can no longer be used";
    } else if (is_own_abort && is_closed_.load()) {
        status.message = where + ": the communicator was closed by another thread";
    } else {
        status.message = op_host::describe(status.record, options_.rank, seconds, limit_seconds);
    }
    return status;
}

void TwinCommunicator::break_with(const op_host::Status& failure) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (first_failure_.ok()) first_failure_ = failure;
}

// The kernels' own clocks: a core stores its times on every path out of an operation.
void TwinCommunicator::book(const TwinResources& resources) {
    const ControlPage& page = resources.fabric->control_page();
    const std::lock_guard<std::mutex> lock(mutex_);
    ++counters_.operations;
    for (uint32_t stage = 0; stage < kNumStages; ++stage) {
        // Cores of a role work side by side: the longest one is the role's time.
        uint64_t longest = 0;
        for (uint32_t core = 0; core < options_.num_cores; ++core) {
            longest = std::max(longest, page.times[core].cycles[stage]);
        }
        counters_.role_ns[stage] += longest;
    }
}

std::vector<std::string> TwinCommunicator::progress() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::vector<std::string> stages;
    if (resources_ == nullptr) return stages;
    const ControlPage& page = resources_->fabric->control_page();
    for (uint32_t core = 0; core < options_.num_cores; ++core) {
        const uint64_t word = twin::load_tag(&page.cores[core].progress);
        stages.emplace_back(op_host::stage_name(word == 0 ? Stage::kNone : static_cast<Stage>(flag_value(word))));
    }
    return stages;
}

Counters TwinCommunicator::counters() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    Counters counters = counters_;
    if (resources_ == nullptr) return counters;
    const twin::Traffic traffic = resources_->fabric->traffic();
    counters.copies = traffic.copies;
    counters.rows = traffic.rows;
    counters.bytes_put_dispatch = traffic.bytes_dispatch;
    counters.bytes_put_combine = traffic.bytes_combine;
    counters.bytes_put_control = traffic.bytes_control;
    counters.wqes_dispatch = traffic.wqes_dispatch;
    counters.wqes_combine = traffic.wqes_combine;
    counters.doorbells_dispatch = traffic.doorbells_dispatch;
    counters.doorbells_combine = traffic.doorbells_combine;
    return counters;
}

void TwinCommunicator::close() {
    if (is_closed_.exchange(true)) return;
    Counters last = counters();
    const std::lock_guard<std::mutex> lock(mutex_);
    counters_ = std::move(last);
    // A forked child only drops its copies: the state in the shared page is its parent's.
    if (::getpid() == pid_) {
        resources_->fabric->request_abort();
        resources_->fabric->set_state(twin::OwnerState::kClosed);
    }
    resources_.reset();
    name_.reset();
}

op_host::Status TwinCommunicator::set_fault(const std::string& name, uint64_t seed, uint64_t events) {
    const op_host::Status status = usable();
    if (!status.ok()) return status;
    const twin::FaultKind kind = twin::fault_from_name(name);
    if (kind == twin::FaultKind::kNone || events == 0) {
        std::string known;
        for (const std::string& fault : twin::fault_names())
            known += (known.empty() ? "" : ", ") + fault;
        return own_refusal(options_.rank, Code::kOutOfRange, Field::kNone, static_cast<int64_t>(events), 1,
                           "fault '" + name + "' at one of " + std::to_string(events) + " events: known faults are " +
                               known + ", and there must be at least one event");
    }
    if (const auto held = resources()) held->fabric->fault().arm(kind, seed, twin::fault_event(seed, events));
    return {};
}

bool TwinCommunicator::fault_fired() const {
    const auto held = resources();
    return held != nullptr && held->fabric->fault().fired();
}

}  // namespace ascend_deepep
