// SPDX-License-Identifier: Apache-2.0
// Runs a SIMT function (VF): threads are plain calls in a loop and become fibers only where one blocks in a barrier or
// a warp operation ("lazy fission"). Layer: twin/runtime; the asc_* functions in twin/include are its callers.
// A VF runs to completion on the OS thread of its core; it never waits for another core.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <vector>

#include "twin/runtime/fiber.h"
#include "twin/runtime/kernel_fault.h"
#include "twin/runtime/ub_layout.h"

struct AscendDeepepSimtIndex {
    uint32_t x, y, z;
};

// The built-in variables of SIMT code. The runner keeps them equal to the running thread's.
extern __thread AscendDeepepSimtIndex threadIdx __asm__("ascend_deepep_thread_idx")
    __attribute__((tls_model("initial-exec")));
extern __thread AscendDeepepSimtIndex blockDim __asm__("ascend_deepep_block_dim")
    __attribute__((tls_model("initial-exec")));
extern __thread AscendDeepepSimtIndex blockIdx __asm__("ascend_deepep_block_idx")
    __attribute__((tls_model("initial-exec")));
extern __thread AscendDeepepSimtIndex gridDim __asm__("ascend_deepep_grid_dim")
    __attribute__((tls_model("initial-exec")));

namespace ascend_deepep::twin {

enum class WarpOp : uint8_t { kNone, kVote, kActiveMask, kShuffle, kReduce };

// What the lanes of a warp put into one collective; complete when the last lane has arrived.
struct WarpExchange {
    uint32_t lanes;  // bit set of the lanes that took part
    uint32_t votes;
    uint64_t values[kWarpLanes];
    uint64_t result;  // of a reduction
};

// Combines the values of exchange.lanes into exchange.result.
using WarpReduce = void (*)(WarpExchange& exchange);

class SimtRunner;
struct SimtCall {
    uint32_t dim_x, dim_y, dim_z;
    size_t stack_bytes;                                 // of one thread that blocks
    void (*loop)(void* arguments, SimtRunner& runner);  // for every thread that runner.claim() hands out
    void* arguments;
};

class __attribute__((visibility("default"))) SimtRunner {
  public:
    ~SimtRunner();

    // Runs one VF on the calling core fiber.
    void run(const SimtCall& call);

    // The next thread that has not started, made the running one. False when all have.
    bool claim() {
        if (next_ == threads_) {
            return false;
        }
        enter(next_++);
        return true;
    }
    // The running thread returned from the SIMT function.
    void finish() {
        if (__builtin_expect(fissioned_, 0)) {
            finish_fissioned();
        }
    }

    void barrier(SourceSite site);
    const WarpExchange& exchange(WarpOp op, bool vote, uint64_t value, WarpReduce reduce, SourceSite site);
    uint32_t thread() const { return thread_; }

    // Leaves the running thread for good; run() raises the fault on the core's stack.
    [[noreturn]] void abandon(const FaultInfo& info);

  private:
    struct ThreadFiber {
        Fiber fiber;
        uint32_t thread = 0;
        bool started = false;
    };
    struct Warp {
        uint32_t generation = 0;
        uint32_t exited = 0;  // number of its threads that returned
        WarpOp op = WarpOp::kNone;
        SourceSite site = {nullptr, 0};
        std::vector<ThreadFiber*> waiting;
        WarpExchange exchanges[2];
    };

    void enter(uint32_t thread) {
        thread_ = thread;
        if (__builtin_expect(is_linear_, 1)) {
            threadIdx.x = thread;
        } else {
            enter_general(thread);
        }
    }
    void enter_general(uint32_t thread);
    void begin(const SimtCall& call);
    void build_stacks(size_t stack_bytes);
    void reset_fibers();
    void fission();
    void finish_fissioned();
    void block(ThreadFiber* self);
    bool release_stalled();
    [[noreturn]] void report_stall();
    uint32_t warp_lanes(uint32_t warp) const;
    void reschedule(ThreadFiber* self);
    void switch_to(ThreadFiber* self, ThreadFiber* to);
    void leave(ThreadFiber* self);
    static void worker_entry(void* runner);
    void worker();

    uint32_t threads_ = 0;
    uint32_t next_ = 0;
    uint32_t thread_ = 0;  // linear index of the running thread
    bool is_linear_ = true;
    bool fissioned_ = false;
    uint32_t exited_ = 0;        // counted once fissioned
    uint32_t warp_waiting_ = 0;  // threads waiting in warp operations
    SimtCall call_{};
    SourceSite barrier_site_ = {nullptr, 0};

    Fiber* host_ = nullptr;  // the core's
    ThreadFiber* running_ = nullptr;
    std::vector<ThreadFiber> fibers_;
    std::vector<ThreadFiber*> idle_;
    std::vector<ThreadFiber*> runnable_;
    size_t runnable_head_ = 0;
    std::vector<ThreadFiber*> at_barrier_;
    std::unique_ptr<Warp[]> warps_;

    char* stacks_ = nullptr;
    size_t stack_bytes_ = 0;
    bool has_fault_ = false;
    FaultInfo fault_{};
    std::exception_ptr error_;
};

// The runner of the VF that this OS thread is in; null outside a VF.
extern __thread SimtRunner* current_simt_pointer __attribute__((tls_model("initial-exec")));

// Runs a VF on this OS thread's runner.
void run_simt(const SimtCall& call);

// The running VF's runner; a fault outside SIMT code.
inline SimtRunner& current_simt(const char* operation) {
    if (__builtin_expect(current_simt_pointer == nullptr, 0)) {
        raise_fault({operation, &rules::kSimtCodeOnly, 0, 0, "call it from a __simt_vf__ function"});
    }
    return *current_simt_pointer;
}

}  // namespace ascend_deepep::twin
