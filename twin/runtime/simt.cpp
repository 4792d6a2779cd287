// SPDX-License-Identifier: Apache-2.0
// The SIMT runner: claiming threads, fibers for those that block, barriers and warp collectives.
// Layer: twin/runtime.
#include "twin/runtime/simt.h"

#include "twin/runtime/core.h"

__thread AscendDeepepSimtIndex threadIdx;
__thread AscendDeepepSimtIndex blockDim;
__thread AscendDeepepSimtIndex blockIdx;
__thread AscendDeepepSimtIndex gridDim;

namespace ascend_deepep::twin {

__thread SimtRunner* current_simt_pointer;

namespace {

constexpr uint32_t kMaxWarps = kMaxSimtThreads / kWarpLanes;

// One stack more than fibers, below the first: what overruns the first one hits its canary and no foreign memory.
constexpr size_t kNumStacks = kMaxSimtThreads + 1;

// Stacks of equal size would put all their tops into the same cache sets.
size_t colour_of(size_t fiber_index) {
    return fiber_index * 64 % 1024;
}

}  // namespace

SimtRunner::~SimtRunner() {
    if (stacks_ != nullptr) {
        unmap_pages(stacks_, stack_bytes_ * kNumStacks);
    }
}

void SimtRunner::build_stacks(size_t stack_bytes) {
    if (stacks_ != nullptr) {
        unmap_pages(stacks_, stack_bytes_ * kNumStacks);
        stacks_ = nullptr;
    }
    stacks_ = map_pages(stack_bytes * kNumStacks);
    stack_bytes_ = stack_bytes;
    fibers_.assign(kMaxSimtThreads, ThreadFiber{});
    for (uint32_t i = 0; i < kMaxSimtThreads; ++i) {
        fibers_[i].fiber.stack = stacks_ + (i + 1) * stack_bytes;
        fibers_[i].fiber.stack_bytes = stack_bytes;
    }
    warps_ = std::make_unique<Warp[]>(kMaxWarps);
    for (uint32_t i = 0; i < kMaxWarps; ++i) {
        warps_[i].waiting.reserve(kWarpLanes);
    }
    runnable_.reserve(kMaxSimtThreads);
    at_barrier_.reserve(kMaxSimtThreads);
    reset_fibers();
}

// Forgets every fiber, abandoned ones too. The first fiber is the one used most, so it is the last of the idle ones.
void SimtRunner::reset_fibers() {
    idle_.clear();
    for (size_t i = fibers_.size(); i-- > 0;) {
        fibers_[i].started = false;
        idle_.push_back(&fibers_[i]);
    }
    runnable_.clear();
    runnable_head_ = 0;
    at_barrier_.clear();
    for (uint32_t i = 0; i < kMaxWarps; ++i) {
        warps_[i].waiting.clear();
    }
    warp_waiting_ = 0;
}

void SimtRunner::begin(const SimtCall& call) {
    const uint64_t threads = uint64_t{call.dim_x} * call.dim_y * call.dim_z;
    require(threads >= 1 && threads <= kMaxSimtThreads, rules::kSimtThreads, "asc_vf_call", threads, kMaxSimtThreads,
            "launch fewer threads and loop over the work");
    if (stack_bytes_ != call.stack_bytes) {
        build_stacks(call.stack_bytes);
    }
    call_ = call;
    threads_ = static_cast<uint32_t>(threads);
    next_ = 0;
    is_linear_ = call.dim_y == 1 && call.dim_z == 1;
    fissioned_ = false;
    has_fault_ = false;
    threadIdx = {0, 0, 0};
    blockDim = {call.dim_x, call.dim_y, call.dim_z};
}

void SimtRunner::run(const SimtCall& call) {
    Core& core = current_core();
    begin(call);
    blockIdx = {static_cast<uint32_t>(core.index), 0, 0};
    gridDim = {static_cast<uint32_t>(core.num_cores), 1, 1};
    core.progress = true;
    core.looks = {};
    core.in_simt = true;
    current_simt_pointer = this;
    host_ = &core.fiber;
    ThreadFiber* first = idle_.back();
    idle_.pop_back();
    switch_to(nullptr, first);
    current_simt_pointer = nullptr;
    core.in_simt = false;
    if (error_ || has_fault_) {
        reset_fibers();
        if (has_fault_) {
            raise_fault(fault_);
        }
        std::exception_ptr error = std::move(error_);
        error_ = nullptr;
        std::rethrow_exception(error);
    }
}

void SimtRunner::enter_general(uint32_t thread) {
    threadIdx = {thread % call_.dim_x, thread / call_.dim_x % call_.dim_y, thread / (call_.dim_x * call_.dim_y)};
}

void SimtRunner::worker_entry(void* runner) {
    static_cast<SimtRunner*>(runner)->worker();
}

void SimtRunner::worker() {
    fiber_entered(*host_);
    for (;;) {
        ThreadFiber* self = running_;
        try {
            call_.loop(call_.arguments, *this);
        } catch (...) {
            error_ = std::current_exception();
        }
        if (!fiber_canary_intact(self->fiber) && !error_) {
            abandon({"asc_vf_call", &rules::kSimtStack, stack_bytes_, stack_bytes_,
                     "use fewer local arrays, or build the twin with larger SIMT stacks"});
        }
        if (error_) {
            leave(self);
        }
        idle_.push_back(self);
        reschedule(self);
    }
}

void SimtRunner::switch_to(ThreadFiber* self, ThreadFiber* to) {
    if (!to->started) {
        to->started = true;
        fiber_prepare(to->fiber, &SimtRunner::worker_entry, this, colour_of(static_cast<size_t>(to - fibers_.data())));
        fiber_set_canary(to->fiber);
    }
    running_ = to;
    fiber_switch(self != nullptr ? self->fiber : *host_, to->fiber);
}

void SimtRunner::leave(ThreadFiber* self) {
    fiber_switch(self->fiber, *host_);
}

void SimtRunner::abandon(const FaultInfo& info) {
    fault_ = info;
    has_fault_ = true;
    leave(running_);
    __builtin_unreachable();
}

// The running thread blocks; returns when something released it.
void SimtRunner::block(ThreadFiber* self) {
    self->thread = thread_;
    reschedule(self);
    enter(self->thread);
}

// Continues another fiber, or the calling one where it is the next. A caller that is neither released nor needed for
// a new thread stays in this call until it is.
void SimtRunner::reschedule(ThreadFiber* self) {
    for (;;) {
        if (runnable_head_ < runnable_.size()) {
            ThreadFiber* to = runnable_[runnable_head_++];
            if (runnable_head_ == runnable_.size()) {
                runnable_.clear();
                runnable_head_ = 0;
            }
            if (to != self) {
                switch_to(self, to);
            }
            return;
        }
        if (next_ < threads_) {
            ThreadFiber* to = idle_.back();
            idle_.pop_back();
            if (to != self) {
                switch_to(self, to);
            }
            return;
        }
        if (!fissioned_ || exited_ == threads_) {
            leave(self);
            return;
        }
        if (!release_stalled()) {
            report_stall();
        }
    }
}

// First block of this VF: every earlier thread has returned already.
void SimtRunner::fission() {
    fissioned_ = true;
    exited_ = thread_;
    warp_waiting_ = 0;
    for (uint32_t w = 0; w < kMaxWarps; ++w) {
        Warp& warp = warps_[w];
        const uint32_t first = w * kWarpLanes;
        warp.generation = 0;
        warp.exited = thread_ <= first ? 0 : (thread_ - first < kWarpLanes ? thread_ - first : kWarpLanes);
        warp.op = WarpOp::kNone;
        warp.waiting.clear();
    }
}

void SimtRunner::finish_fissioned() {
    ++exited_;
    Warp& warp = warps_[thread_ / kWarpLanes];
    ++warp.exited;
    if (!warp.waiting.empty() && warp.waiting.size() + warp.exited == warp_lanes(thread_ / kWarpLanes)) {
        // The lanes that wait are all that are left: their collective is complete without this one.
        WarpExchange& exchange = warp.exchanges[warp.generation++ & 1];
        if (exchange.result != 0) {
            reinterpret_cast<WarpReduce>(static_cast<uintptr_t>(exchange.result))(exchange);
        }
        warp_waiting_ -= static_cast<uint32_t>(warp.waiting.size());
        runnable_.insert(runnable_.end(), warp.waiting.begin(), warp.waiting.end());
        warp.waiting.clear();
        warp.op = WarpOp::kNone;
    }
}

uint32_t SimtRunner::warp_lanes(uint32_t warp) const {
    const uint32_t left = threads_ - warp * kWarpLanes;
    return left < kWarpLanes ? left : kWarpLanes;
}

void SimtRunner::barrier(SourceSite site) {
    if (!fissioned_) {
        fission();
    }
    barrier_site_ = site;
    at_barrier_.push_back(running_);
    block(running_);
}

// Every live thread is blocked and none is left to start. True if that was a complete barrier, now released.
bool SimtRunner::release_stalled() {
    if (exited_ != 0 || at_barrier_.size() != threads_) {
        return false;
    }
    runnable_.swap(at_barrier_);
    runnable_head_ = 0;
    at_barrier_.clear();
    return true;
}

void SimtRunner::report_stall() {
    if (warp_waiting_ == 0) {
        abandon({"asc_syncthreads", &rules::kDivergentBarrier, exited_, 0,
                 "let every thread of the block reach every asc_syncthreads", barrier_site_});
    }
    for (uint32_t w = 0; w < kMaxWarps; ++w) {
        const Warp& warp = warps_[w];
        if (!warp.waiting.empty()) {
            abandon({"warp operation", &rules::kDivergentCollective, warp.waiting.size(), warp_lanes(w) - warp.exited,
                     "let all live lanes of a warp reach the call (lanes that wait, live lanes)", warp.site});
        }
    }
    __builtin_unreachable();
}

const WarpExchange& SimtRunner::exchange(WarpOp op, bool vote, uint64_t value, WarpReduce reduce, SourceSite site) {
    if (!fissioned_) {
        fission();
    }
    Warp& warp = warps_[thread_ / kWarpLanes];
    const uint32_t lane = thread_ % kWarpLanes;
    WarpExchange& exchange = warp.exchanges[warp.generation & 1];
    if (warp.op == WarpOp::kNone) {
        warp.op = op;
        warp.site = site;
        exchange.lanes = 0;
        exchange.votes = 0;
        // Until it is complete, the result slot keeps the reduction for the case that a lane returns instead.
        exchange.result = reinterpret_cast<uintptr_t>(reduce);
    } else if (warp.op != op || warp.site.line != site.line || warp.site.file != site.file) {
        abandon({"warp operation", &rules::kDivergentCollective, static_cast<uint64_t>(site.line),
                 static_cast<uint64_t>(warp.site.line),
                 "let all live lanes of a warp reach the same call (its line, the others' line)", site});
    }
    exchange.lanes |= 1u << lane;
    exchange.votes |= static_cast<uint32_t>(vote) << lane;
    exchange.values[lane] = value;
    if (warp.waiting.size() + 1 + warp.exited < warp_lanes(thread_ / kWarpLanes)) {
        warp.waiting.push_back(running_);
        ++warp_waiting_;
        block(running_);
        return exchange;
    }
    if (reduce != nullptr) {
        reduce(exchange);
    }
    ++warp.generation;
    warp_waiting_ -= static_cast<uint32_t>(warp.waiting.size());
    runnable_.insert(runnable_.end(), warp.waiting.begin(), warp.waiting.end());
    warp.waiting.clear();
    warp.op = WarpOp::kNone;
    return exchange;
}

void run_simt(const SimtCall& call) {
    static thread_local SimtRunner runner;
    runner.run(call);
}

}  // namespace ascend_deepep::twin
