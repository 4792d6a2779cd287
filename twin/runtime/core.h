// SPDX-License-Identifier: Apache-2.0
// The state of one AIV core while it runs a kernel: UB arena, buffers, events, pipes; and the pointer to the core that
// the calling OS thread is running. Layer: twin/runtime. Read and written by the accessors in twin/include.
#pragma once

#include <cstdint>

#include "twin/runtime/capture.h"
#include "twin/runtime/deferred_pipes.h"
#include "twin/runtime/fiber.h"
#include "twin/runtime/gm_hooks.h"
#include "twin/runtime/kernel_fault.h"
#include "twin/runtime/ub_layout.h"
#include "twin/runtime/window_map.h"

namespace ascend_deepep::twin {

enum class BufferState : uint8_t { kFree, kOccupied, kEnqueued, kDequeued };

// One buffer that TPipe::InitBuffer cut from UB. The two positions carry a queue's two synchronisations.
struct UbBuffer {
    uint8_t* data;
    uint32_t bytes;
    BufferState state;
    const void* queue;       // the queue it belongs to; null for a TBuf
    uint64_t full_position;  // producer pipe's position at EnQue
    uint64_t free_position;  // consumer pipe's position at FreeTensor
};

struct EventFlag {
    bool is_set;
    uint64_t position;  // of the source pipe
};

// What the core has read again and again since it last gave way (twin/runtime/polling.h).
struct Looks {
    const void* word;
    uint64_t value;
    uint32_t repeats;
    uint32_t others;  // words read since it was `word`
};

struct LaunchState;

struct Core {
    uint8_t* ub;        // first byte of its 256 KB
    uint32_t ub_bytes;  // what the launch gave: static + dynamic
    int32_t index;
    int32_t num_cores;
    GmHooks* hooks;
    WindowMap windows;
    Looks looks;
    bool in_simt;             // it runs a SIMT function
    bool progress;            // since its last poll_yield
    bool writes_past_caches;  // of rows that go to GM
    uint64_t slice_bytes;     // written since the last slice ended; of the Fast policy only
    uint64_t ctrl;            // the CTRL special register

    const void* pipe;          // the live TPipe
    bool has_placed_tensors;   // LocalTensors at addresses, without a TPipe
    uint32_t pipe_generation;  // counts Reset and Destroy, so that buffers of before are known
    uint32_t pipe_bytes;
    uint32_t num_buffers;
    uint32_t num_queue_buffers;
    UbBuffer buffers[kMaxUbBuffers];

    EventFlag flags[kNumAivEvents][kNumEventIds];
    uint8_t reserved_ids[kNumAivEvents];  // bit set of TPipe::AllocEventID

    DeferredPipes* deferred;  // owned by the launch; unused by the Fast policy
    LaunchState* launch;
    Waiting waiting;  // as of its last poll
    Core* next;
    Core* previous;
    Fiber fiber;
};

// CTRL bits of dav-3510: 60 = the global saturation bits count, 48 = keep inf and nan. Only 60 is set after reset.
constexpr uint64_t kCtrlReset = uint64_t{1} << 60;

// The core that this OS thread is running; null outside a launch. A fiber never changes its OS thread.
extern __thread Core* current_core_pointer __attribute__((tls_model("initial-exec")));
inline Core& current_core() {
    return *current_core_pointer;
}

// The running core, for what SIMT code cannot call.
[[gnu::always_inline]] inline Core& scalar_core(const char* operation) {
    Core& core = current_core();
    require(!core.in_simt, rules::kScalarCodeOnly, operation, 1, 0,
            "do it in front of asc_vf_call, and pass the result as an argument");
    return core;
}

// True when p is inside the running core's unified buffer, reserve and data cache included.
inline bool is_ub(const void* p) {
    return reinterpret_cast<uintptr_t>(p) - reinterpret_cast<uintptr_t>(current_core_pointer->ub) < kUbTotalBytes;
}

// Errors that only the end of a kernel or of its TPipe can tell.
void check_queues_empty(Core& core, const char* operation);
void check_flags_paired(Core& core);

}  // namespace ascend_deepep::twin
