// SPDX-License-Identifier: Apache-2.0
// Layer: twin/sim.
#include "twin/sim/urma_driver.h"

#include <algorithm>

#include "twin/sim/checks/queues.h"
#include "twin/sim/checks/unwritten.h"

namespace ascend_deepep::sim {

UrmaDriver::UrmaDriver(Shared& shared, Wire& wire, WindowArena& arena, const twin::EngineConfig& config,
                       twin::Memory& memory, uint32_t process, uint32_t seat)
    : shared_(shared),
      wire_(wire),
      arena_(arena),
      memory_(memory),
      rank_(config.rank),
      process_(process),
      seat_(seat),
      engine_(config, memory, *this),
      queues_(engine_.num_queues()) {
    for (Queue& queue : queues_)
        queue.produced = config.first_index;
}

bool UrmaDriver::store(const void* address, uint64_t value, unsigned bytes) {
    if (!engine_.store(address, value, bytes)) return false;
    shared_.trace.mix(TraceKind::kDoorbell, rank_, value);
    for (uint32_t queue = 0; queue < queues_.size(); ++queue) {
        check_queue(queue);
        if (shared_.timeline != nullptr) shared_.timeline->pending(seat_, queue, engine_.pending(queue), shared_.now);
        if (queues_[queue].is_fetching || engine_.pending(queue) == 0) continue;
        queues_[queue].is_fetching = true;
        shared_.events.add(shared_.soon(shared_.schedule.wqe_ns), EventKind::kFetch, seat_, queue);
    }
    return true;
}

void UrmaDriver::check_queue(uint32_t queue) {
    shared_.findings.report("queues", stop_fault(rank_, engine_.peer_of(queue), engine_.stopped_by(queue)));
}

void UrmaDriver::read(Record& record) {
    record.verdict = engine_.read(record.queue, record.index, &record.fields);
    shared_.findings.report("queues", queue_fault(rank_, peer_of(record), record.index, record.verdict.fault));
}

void UrmaDriver::fetch(uint32_t queue) {
    Queue& state = queues_[queue];
    state.is_fetching = false;
    if (engine_.pending(queue) == 0) return;  // the queue has stopped
    if (free_.empty()) {
        free_.push_back(static_cast<uint32_t>(records_.size()));
        records_.emplace_back();
    }
    const uint32_t number = free_.back();
    free_.pop_back();
    Record& record = records_[number];
    record = Record{};
    record.queue = queue;
    record.index = engine_.take(queue);
    if (shared_.timeline != nullptr)
        shared_.timeline->fetches(seat_, queue, peer_of(record), number, record.index, shared_.now);
    if (shared_.meter != nullptr) shared_.meter->wqe(process_);
    shared_.trace.mix(TraceKind::kFetch, rank_, record.index);
    state.open.push_back(number);
    if (shared_.assumptions.completed_was_fetched) read(record);  // A3
    shared_.events.add(shared_.soon(shared_.schedule.wqe_ns), EventKind::kExecute, seat_, number);
    if (engine_.pending(queue) == 0) return;
    state.is_fetching = true;
    shared_.events.add(shared_.soon(shared_.schedule.wqe_ns), EventKind::kFetch, seat_, queue);
}

bool UrmaDriver::is_struck(SimFault kind, uint32_t peer) {
    FaultPlan& fault = shared_.fault;
    if (fault.kind != kind || fault.is_over || fault.rank != process_ || fault.counted++ != fault.at) return false;
    fault.has_struck = true;
    fault.struck_peer = wire_.process_of(peer);
    fault.struck_communicator = wire_.number();
    fault.struck_sequence = arena_.page(rank_).state.sequence;
    return true;
}

CqeStatus UrmaDriver::deliver(uint32_t peer, uint64_t remote_offset, const uint8_t* source, uint32_t bytes) {
    const uint64_t local_offset = arena_.offset_of(source);
    shared_.findings.report(
        "unwritten", unwritten_fault(arena_.shadow(rank_), rank_, "window (a WQE's source)", local_offset, bytes));
    landed_ns_ = wire_.put({rank_, peer, remote_offset, bytes}, source, visible_after_ns_);
    return CqeStatus::kOk;
}

// The WQE asks to come after the earlier ones of its queue, and one of them has not been executed.
bool UrmaDriver::must_wait(uint32_t number) {
    Record& record = records_[number];
    record.is_held = shared_.assumptions.order_bits_are_kept && twin::wqe_is_ordered(record.fields) &&
                     queues_[record.queue].open.front() != number;
    return record.is_held;
}

// False: it will never complete.
bool UrmaDriver::move_data(Record& record) {
    if (is_struck(SimFault::kBadCqe, peer_of(record))) {
        record.verdict = {CqeStatus::kRemoteAccess, twin::WqeFault::kInjected};
        return true;
    }
    if (is_struck(SimFault::kWqeLost, peer_of(record))) return !shared_.fault.is_silent;
    const bool is_ordered = shared_.assumptions.order_bits_are_kept && twin::wqe_is_ordered(record.fields);
    Queue& queue = queues_[record.queue];
    visible_after_ns_ = is_ordered ? queue.landed_ns : 0;
    const auto* source = reinterpret_cast<const uint8_t*>(record.fields.local_address);
    record.verdict.status =
        deliver(peer_of(record), engine_.remote_offset(record.queue, record.fields), source, record.fields.length);
    queue.landed_ns = std::max(queue.landed_ns, landed_ns_);
    return true;
}

void UrmaDriver::executed(uint32_t number) {
    std::vector<uint32_t>& open = queues_[records_[number].queue].open;
    open.erase(std::find(open.begin(), open.end(), number));
    if (open.empty() || !records_[open.front()].is_held) return;
    shared_.events.add(shared_.soon(shared_.schedule.wqe_ns), EventKind::kExecute, seat_, open.front());
}

void UrmaDriver::execute(uint32_t number) {
    Record& record = records_[number];
    if (!shared_.assumptions.completed_was_fetched) read(record);
    if (must_wait(number)) return;
    shared_.trace.mix(TraceKind::kExecute, rank_, record.index);
    if (shared_.timeline != nullptr) shared_.timeline->executes(seat_, number, shared_.now);
    const bool completes = record.verdict.status != CqeStatus::kOk || move_data(record);
    executed(number);
    if (!completes) return;
    shared_.events.add(shared_.soon(shared_.schedule.completion_ns), EventKind::kComplete, seat_, number);
}

uint64_t UrmaDriver::complete(uint32_t number) {
    const Record& record = records_[number];
    shared_.trace.mix(TraceKind::kComplete, rank_, record.index);
    if (shared_.timeline != nullptr) shared_.timeline->completes(seat_, number, shared_.now);
    engine_.complete(record.queue, record.index, record.verdict, record.fields.length);
    check_queue(record.queue);
    const QueueContext& queue = engine_.context(record.queue);
    const uint64_t at = queue.cq_base + uint64_t{queues_[record.queue].produced++ & (queue.cq_depth - 1)} * kCqeBytes;
    free_.push_back(number);
    return at - reinterpret_cast<uint64_t>(memory_.data());
}

}  // namespace ascend_deepep::sim
