// SPDX-License-Identifier: Apache-2.0
// Layer: twin/sim.
#include "twin/sim/timeline.h"

#include <algorithm>

#include "contract/tag.h"

namespace ascend_deepep::sim {
namespace {

constexpr uint64_t kOpen = ~uint64_t{0};

template <typename T>
T& grown(std::vector<T>& all, size_t index, const T& fresh) {
    if (all.size() <= index) all.resize(index + 1, fresh);
    return all[index];
}

template <typename T>
void close_all(std::vector<T>& all, uint64_t T::* end, uint64_t now) {
    for (T& one : all) {
        if (one.*end == kOpen) one.*end = now;
    }
}

}  // namespace

void Timeline::begin(uint32_t num_ranks, uint32_t num_cores) {
    *this = Timeline();
    num_ranks_ = num_ranks;
    num_cores_ = num_cores;
    cores_.resize(size_t{num_ranks} * (num_cores + 1));
    open_calls_.assign(num_ranks, kNone);
}

void Timeline::new_communicator(const std::vector<uint32_t>& members) {
    const auto number = static_cast<uint32_t>(members_.size());
    members_.push_back(members);
    write_of_flight_.emplace_back();
    for (uint32_t process : members)
        seats_.push_back({number, process, {}, {}});
}

void Timeline::end(uint64_t now) {
    close_all(stages_, &Stage::to, now);
    close_all(waits_, &Wait::to, now);
    close_all(calls_, &Call::to, now);
    close_all(writes_, &Write::landed, now);
    close_all(wqes_, &Wqe::executed, now);
    close_all(wqes_, &Wqe::completed, now);
    close_all(wake_ups_, &WakeUp::woken_at, now);
}

void Timeline::at(uint32_t actor, uint64_t ns, uint64_t progress) {
    running_ = actor;
    running_ns_ = ns;
    Core& core = cores_[actor];
    if (core.progress == progress) return;
    if (core.stage != kNone) stages_[core.stage].to = ns;
    core.progress = progress;
    core.stage = static_cast<uint32_t>(stages_.size());
    stages_.push_back({rank_of(actor), core_of(actor), flag_value(progress), ns, kOpen, kNever});
}

void Timeline::gives(uint32_t actor, uint64_t ns) {
    const uint32_t stage = cores_[actor].stage;
    if (stage != kNone && stages_[stage].first_output == kNever) stages_[stage].first_output = ns;
}

void Timeline::reads(uint32_t actor, uint64_t offset, uint64_t bytes) {
    std::vector<uint64_t>& lines = cores_[actor].lines;
    for (uint64_t line = offset / kLineBytes; line <= (offset + bytes - 1) / kLineBytes; ++line) {
        if (std::find(lines.begin(), lines.end(), line * kLineBytes) == lines.end()) lines.push_back(line * kLineBytes);
    }
}

void Timeline::collects(uint32_t actor, uint64_t offset, uint64_t bytes, uint64_t ns) {
    reads_.push_back({rank_of(actor), core_of(actor), offset, bytes, ns});
}

void Timeline::sleeps(uint32_t actor, uint64_t now, const twin::Waiting& waiting) {
    Core& core = cores_[actor];
    core.wait = static_cast<uint32_t>(waits_.size());
    const uint32_t stage = core.stage == kNone ? 0 : stages_[core.stage].stage;
    waits_.push_back({rank_of(actor), core_of(actor), stage, now, kOpen, core.lines, waiting});
}

void Timeline::looks(uint32_t actor, uint64_t now) {
    Core& core = cores_[actor];
    if (core.wait != kNone) waits_[core.wait].to = now;
    if (core.wake_up != kNone) wake_ups_[core.wake_up].woken_at = now;
    core.wait = core.wake_up = kNone;
    core.lines.clear();
}

void Timeline::returns(uint32_t actor, uint64_t now) {
    Core& core = cores_[actor];
    looks(actor, now);
    if (core.stage != kNone) stages_[core.stage].to = time(now);
    core.stage = kNone;
}

void Timeline::changes(uint32_t sleeper, uint64_t offset, uint64_t bytes, uint64_t now) {
    Core& core = cores_[sleeper];
    const auto meets = [&](uint64_t line) { return offset < line + kLineBytes && line < offset + bytes; };
    const bool is_watched = std::any_of(core.lines.begin(), core.lines.end(), meets);
    if (!is_watched || core.wait == kNone || core.wake_up != kNone) return;
    WakeUp wake_up{Source::kCore, 0, 0, 0, offset, time(now), rank_of(sleeper), core_of(sleeper), kOpen};
    if (arriving_ != kNone) {
        wake_up.source = Source::kWrite;
        wake_up.index = arriving_;
        wake_up.at = now;
    } else if (completing_ != kNone) {
        wake_up.source = Source::kWqe;
        wake_up.index = completing_;
    } else if (running_ != kNone) {
        wake_up.from = rank_of(running_);
        wake_up.core = core_of(running_);
    } else {
        return;  // the host itself wrote
    }
    core.wake_up = static_cast<uint32_t>(wake_ups_.size());
    wake_ups_.push_back(wake_up);
}

void Timeline::call_begins(uint32_t rank, const char* name, uint64_t now) {
    open_calls_[rank] = static_cast<uint32_t>(calls_.size());
    calls_.push_back({rank, name, now, kOpen});
}

void Timeline::call_ends(uint32_t rank, uint64_t now) {
    calls_[open_calls_[rank]].to = now;
}

void Timeline::pending(uint32_t seat, uint32_t queue, uint32_t count, uint64_t now) {
    std::deque<uint32_t>& announced = grown(seats_[seat].announced, queue, {});
    if (count <= announced.size() || running_ == kNone) return;
    announced.resize(count, static_cast<uint32_t>(doorbells_.size()));
    doorbells_.push_back({seats_[seat].process, core_of(running_), queue, time(now)});
}

void Timeline::fetches(uint32_t seat, uint32_t queue, uint32_t peer, uint32_t record, uint32_t index, uint64_t now) {
    Seat& own = seats_[seat];
    std::deque<uint32_t>& announced = grown(own.announced, queue, {});
    const uint32_t doorbell = announced.empty() ? kNone : announced.front();
    if (!announced.empty()) announced.pop_front();
    grown(own.wqe_of_record, record, kNone) = static_cast<uint32_t>(wqes_.size());
    const uint32_t peer_process = members_[own.communicator][peer];
    wqes_.push_back({own.communicator, own.process, peer_process, queue, index, doorbell, now, kOpen, kOpen});
}

void Timeline::executes(uint32_t seat, uint32_t record, uint64_t now) {
    executing_ = seats_[seat].wqe_of_record[record];
    wqes_[executing_].executed = now;
}

void Timeline::completes(uint32_t seat, uint32_t record, uint64_t now) {
    completing_ = seats_[seat].wqe_of_record[record];
    wqes_[completing_].completed = now;
}

void Timeline::leaves(uint32_t communicator, uint32_t flight, uint32_t from, uint32_t to, uint64_t offset,
                      uint64_t bytes, uint64_t now) {
    grown(write_of_flight_[communicator], flight, kNone) = static_cast<uint32_t>(writes_.size());
    const uint32_t core = executing_ == kNone && running_ != kNone ? core_of(running_) : kNone;
    writes_.push_back({communicator, from, to, offset, bytes, time(now), kOpen, core, executing_});
}

void Timeline::arrives(uint32_t communicator, uint32_t flight, uint64_t now) {
    arriving_ = write_of_flight_[communicator][flight];
    Write& write = writes_[arriving_];
    write.landed = std::max(write.left, now);  // the last piece decides
}

}  // namespace ascend_deepep::sim
