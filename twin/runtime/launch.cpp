// SPDX-License-Identifier: Apache-2.0
// Cores as fibers, round robin or under a scheduler; the pool of their stacks and UB arenas.
// Layer: twin/runtime.
#include "twin/runtime/launch.h"

#include <cstring>
#include <utility>

#include "twin/runtime/launch_state.h"
#include "twin/runtime/poll.h"
#include "twin/runtime/simt.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace ascend_deepep::twin {

__thread Core* current_core_pointer;

namespace {

#if defined(__SANITIZE_ADDRESS__) || !defined(__OPTIMIZE__)
constexpr size_t kCoreStackBytes = 512 * 1024;
#else
constexpr size_t kCoreStackBytes = 128 * 1024;
#endif
constexpr uint32_t kMaxLaunchCores = 128;  // of one launch; a part has 72 at most
constexpr uint32_t kUbGuardBytes = 64;     // right behind the launch's UB, to see a raw store past its end
constexpr size_t kSpareBytes = 4096;       // below the stack, so that an overrun is reported by its canary
constexpr size_t kSlotBytes = kSpareBytes + kCoreStackBytes + kUbTotalBytes;

void guard_ub(Core& core) {
#if defined(__SANITIZE_ADDRESS__)
    __asan_unpoison_memory_region(core.ub, kUbTotalBytes);
    __asan_poison_memory_region(core.ub + core.ub_bytes, kUbTotalBytes - core.ub_bytes);
#else
    std::memset(core.ub + core.ub_bytes, kUbPoison, kUbGuardBytes);
#endif
}

void check_ub_guard([[maybe_unused]] const Core& core) {
#if !defined(__SANITIZE_ADDRESS__)
    for (uint32_t i = 0; i < kUbGuardBytes; ++i) {
        require(core.ub[core.ub_bytes + i] == kUbPoison, rules::kUbOverrun, "kernel end", core.ub_bytes + i,
                core.ub_bytes, "find the raw UB pointer that runs over its buffer");
    }
#endif
}

void reset_core(Core& core, uint32_t index, LaunchState& state) {
    core.ub_bytes = state.config.dyn_ubuf_bytes;
    core.index = static_cast<int32_t>(index);
    core.num_cores = static_cast<int32_t>(state.config.num_cores);
    core.hooks = state.hooks;
    core.windows = state.hooks->window_map();
    core.looks = {};
    core.waiting = {};
    core.in_simt = false;
    core.progress = false;
    core.slice_bytes = 0;
    core.writes_past_caches = state.hooks->writes_past_caches();
    core.ctrl = kCtrlReset;
    core.pipe = nullptr;
    core.has_placed_tensors = false;
    core.pipe_bytes = 0;
    core.num_buffers = 0;
    core.num_queue_buffers = 0;
    std::memset(core.flags, 0, sizeof(core.flags));
    std::memset(core.reserved_ids, 0, sizeof(core.reserved_ids));
    core.deferred->clear();
    core.launch = &state;
    guard_ub(core);
}

void end_round(LaunchState& state) {
    state.hooks->step();
    if (!state.round_progressed) {
        if (state.capture != nullptr) state.capture->idle_begins();
        state.hooks->idle();
        if (state.capture != nullptr) state.capture->idle_ends();
    } else if (state.capture != nullptr) {
        state.capture->works();
    }
    state.round_progressed = false;
}

void finish_core(Core& core) {
    core.deferred->drain_all();
    check_queues_empty(core, "kernel end");
    check_flags_paired(core);
    require(core.ctrl == kCtrlReset, rules::kCtrlRestored, "kernel end", core.ctrl, kCtrlReset,
            "ResetCtrlSpr what SetCtrlSpr has changed: the next kernel of the core inherits it");
    check_ub_guard(core);
    require(fiber_canary_intact(core.fiber), rules::kCoreStack, "kernel end", kCoreStackBytes, kCoreStackBytes,
            "keep large arrays in UB");
}

// Takes a returned core out of the ring and gives the core to continue, null for none.
Core* remove_core(Core& core) {
    LaunchState& state = *core.launch;
    state.round_progressed = true;
    if (state.capture != nullptr) state.capture->returns(static_cast<uint32_t>(core.index));
    if (core.next == &core) {
        return nullptr;
    }
    core.previous->next = core.next;
    core.next->previous = core.previous;
    if (state.last == &core) {
        state.last = core.previous;
        end_round(state);
    }
    return core.next;
}

void core_main(void* argument) {
    Core& core = *static_cast<Core*>(argument);
    LaunchState& state = *core.launch;
    fiber_entered(state.scheduler != nullptr ? state.scheduler->context() : state.main);
    Core* next = nullptr;
    try {
        state.entry(state.tiling);
        finish_core(core);
        if (state.scheduler == nullptr) next = remove_core(core);
    } catch (...) {
        state.error = std::current_exception();
        next = nullptr;
    }
    if (state.scheduler != nullptr) state.scheduler->leave(core);
    current_core_pointer = next;
    fiber_switch(core.fiber, next != nullptr ? next->fiber : state.main, true);
    __builtin_unreachable();
}

void link_ring(CorePool& pool, LaunchState& state) {
    const uint32_t n = state.config.num_cores;
    for (uint32_t i = 0; i < n; ++i) {
        Core& core = pool.core(i);
        reset_core(core, i, state);
        core.next = &pool.core((i + 1) % n);
        core.previous = &pool.core((i + n - 1) % n);
        fiber_prepare(core.fiber, &core_main, &core);
        fiber_set_canary(core.fiber);
    }
    state.last = &pool.core(n - 1);
}

void check_config(const LaunchConfig& config) {
    require(config.num_cores >= 1 && config.num_cores <= kMaxLaunchCores, rules::kLaunchCores, "launch",
            config.num_cores, kMaxLaunchCores, "ask for at most the physical AIV count");
    require(config.dyn_ubuf_bytes <= kUbMaxDynamicBytes, rules::kUbLaunchSize, "launch", config.dyn_ubuf_bytes,
            kUbMaxDynamicBytes, "use less UB");
    require(current_core_pointer == nullptr, rules::kNestedLaunch, "launch", 1, 0, "launch from the host");
}

}  // namespace

CorePool::~CorePool() {
    for (auto& slot : slots_) {
        unmap_pages(slot->fiber.stack - kSpareBytes, kSlotBytes);
    }
}

Core& CorePool::core(uint32_t index) {
    while (slots_.size() <= index) {
        auto slot = std::make_unique<Core>();
        char* memory = map_pages(kSlotBytes);
        slot->fiber.stack = memory + kSpareBytes;
        slot->fiber.stack_bytes = kCoreStackBytes;
        slot->ub = reinterpret_cast<uint8_t*>(memory + kSpareBytes + kCoreStackBytes);
        pipes_.push_back(std::make_unique<DeferredPipes>());
        slot->deferred = pipes_.back().get();
        slots_.push_back(std::move(slot));
    }
    return *slots_[index];
}

namespace {

// The next core of the ring has its turn, until it is the turn of this one again.
[[gnu::always_inline]] inline void pass_turn(Core* core, LaunchState& state) {
    if (__builtin_expect(!core->deferred->empty(), 0)) {
        core->progress |= core->deferred->advance();
    }
    state.round_progressed |= core->progress;
    core->progress = false;
    core->looks = {};
    if (core == state.last) {
        end_round(state);
    }
    Core* next = core->next;
    if (next == core) {
        return;
    }
    current_core_pointer = next;
    fiber_switch(core->fiber, next->fiber);
}

// Apart, so that nothing is left to do behind a switch that nobody watches: a return through one more frame costs a
// poll a quarter of its time.
[[gnu::noinline]] void pass_watched(Core* core, LaunchState& state) {
    pass_turn(core, state);
    state.capture->goes_on(static_cast<uint32_t>(core->index));
}

// Where the turn is a scheduler's to give, it is taken there. Null: done, or outside a launch.
[[gnu::always_inline]] inline LaunchState* round_robin(Core* core) {
    if (core == nullptr) return nullptr;
    if (__builtin_expect(current_simt_pointer != nullptr, 0)) {
        raise_fault({"poll_pause", &rules::kSimtNeverWaits, 1, 0, "poll in scalar code"});
    }
    LaunchState& state = *core->launch;
    if (__builtin_expect(state.scheduler == nullptr, 1)) return &state;
    state.scheduler->poll(*core);
    return nullptr;
}

}  // namespace

void poll_yield() {
    Core* core = current_core_pointer;
    LaunchState* state = round_robin(core);
    if (state == nullptr) return;
    if (__builtin_expect(state->capture != nullptr, 0)) {
        state->capture->pauses(static_cast<uint32_t>(core->index));
        pass_watched(core, *state);
        return;
    }
    pass_turn(core, *state);
}

void poll_wait(uint32_t stage, uint32_t peer, uint64_t cycle) {
    Core* core = current_core_pointer;
    if (core != nullptr) core->waiting = {stage, peer};
    LaunchState* state = round_robin(core);
    if (state == nullptr) return;
    if (__builtin_expect(state->capture != nullptr, 0)) {
        state->capture->polls(static_cast<uint32_t>(core->index), core->waiting, cycle, core->progress);
        pass_watched(core, *state);
        return;
    }
    pass_turn(core, *state);
}

size_t core_stack_bytes() {
    return kCoreStackBytes;
}

void check_queues_empty(Core& core, const char* operation) {
    for (uint32_t i = 0; i < core.num_buffers; ++i) {
        const UbBuffer& buffer = core.buffers[i];
        if (buffer.queue != nullptr) {
            require(buffer.state == BufferState::kFree, rules::kQueueLeft, operation, i, 0,
                    "FreeTensor every tensor that AllocTensor gave");
        }
    }
}

void check_flags_paired(Core& core) {
    for (int event = 0; event < kNumAivEvents; ++event) {
        for (int id = 0; id < kNumEventIds; ++id) {
            require(!core.flags[event][id].is_set, rules::kEventLeft, "kernel end", static_cast<uint64_t>(id), 0,
                    "wait for every flag that is set");
        }
    }
}

namespace {

void run_launch(LaunchState& state, CorePool& pool) {
    check_config(state.config);
    state.round_progressed = true;
    link_ring(pool, state);
    if (state.scheduler != nullptr) {
        state.scheduler->run(state);
    } else {
        Core& first = pool.core(0);
        current_core_pointer = &first;
        if (state.capture != nullptr) state.capture->begin(state.config.num_cores);
        fiber_switch(state.main, first.fiber);
        current_core_pointer = nullptr;
        if (state.capture != nullptr) state.capture->end();
    }
    if (state.error) {
        std::rethrow_exception(state.error);
    }
}

}  // namespace

void launch(const LaunchConfig& config, void (*entry)(uint8_t*), uint8_t* tiling, GmHooks& hooks) {
    static thread_local CorePool pool;
    LaunchState state{};
    state.config = config;
    state.entry = entry;
    state.tiling = tiling;
    state.hooks = &hooks;
    state.capture = hooks.capture();
    run_launch(state, pool);
}

void launch_under(Scheduler& scheduler, const LaunchConfig& config, void (*entry)(uint8_t*), uint8_t* tiling,
                  GmHooks& hooks) {
    LaunchState state{};
    state.config = config;
    state.entry = entry;
    state.tiling = tiling;
    state.hooks = &hooks;
    state.scheduler = &scheduler;
    run_launch(state, scheduler.pool());
}

}  // namespace ascend_deepep::twin
