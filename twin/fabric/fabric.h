// SPDX-License-Identifier: Apache-2.0
// The fabric of one communicator and rank: windows of all ranks, the URMA engine, liveness, wake-ups. Layer:
// twin/fabric. It is what the twin's machine asks about windows and registers (GmHooks). Peers are written by whole
// blocks only.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "contract/window_layout.h"
#include "twin/fabric/fault.h"
#include "twin/fabric/huge_pages.h"
#include "twin/fabric/liveness.h"
#include "twin/fabric/traffic.h"
#include "twin/fabric/urma_engine.h"
#include "twin/fabric/waiter.h"
#include "twin/fabric/window.h"
#include "twin/runtime/gm_hooks.h"

namespace ascend_deepep::twin {

struct FabricConfig {
    uint32_t rank;
    WindowLayout layout;
    uint32_t queue_depth;
    bool is_stepped;               // sim policy: WQEs run between scheduler rounds, not at the doorbell
    std::vector<uint64_t> nonces;  // of all ranks, from the rendezvous
    std::vector<int32_t> pids;
    std::function<bool()> interrupted;  // asked while waiting, at most every 100 ms; may be empty
    uint32_t queues_per_peer = 1;
};

struct GmRange {
    const void* data;
    uint64_t bytes;

    bool holds(const void* p, uint64_t size) const {
        const uint64_t at = reinterpret_cast<uintptr_t>(p) - reinterpret_cast<uintptr_t>(data);
        return at < bytes && size <= bytes - at;
    }
};

// About what an operation moves. Much of it goes past the caches and through huge pages.
struct OperationSize {
    uint64_t row_bytes = 0;             // of this rank's tokens, a row for each choice of an expert
    std::vector<Region> window_ranges;  // of the own window that are going to be used, if peers do as this rank does
};

class Fabric final : public GmHooks, private WriteSink {
  public:
    // `memory` holds the queue table and rings and is a known GM range as a whole. All windows are mapped.
    Fabric(const FabricConfig& config, std::unique_ptr<WindowTable> windows, Memory& memory);

    // An operation's launch runs between these. `ranges`: what kernels may touch beside windows and `memory`.
    void begin(OperationKind kind, std::vector<GmRange> ranges, const OperationSize& size = {});
    void end();

    // Who watches the launches from the next one on; null: nobody.
    void set_capture(Capture* capture);

    // Ends the operation in progress, if any: kernels see the abort word in their waits. Any thread.
    void request_abort() { abort_requested_.store(true, std::memory_order_relaxed); }
    bool was_interrupted() const { return was_interrupted_; }
    // Seen by peers that still wait for this rank. Never takes a failure back.
    void set_state(OwnerState state);

    ControlPage& control_page() { return *reinterpret_cast<ControlPage*>(windows_->window(config_.rank)); }
    const WindowTable& windows() const { return *windows_; }
    const UrmaEngine& engine() const { return engine_; }
    FaultInjector& fault() { return fault_; }
    Traffic traffic() const { return meter_.totals(); }

    // GmHooks.
    WindowMap window_map() const override {
        return {windows_->window(0), windows_->reserved_bytes(), own_window_, windows_->window_bytes()};
    }
    bool writes_past_caches() const override { return writes_past_caches_; }
    Capture* capture() override { return capture_; }
    void window_write(void* dst, const void* src, size_t bytes) override;
    void window_read(void* dst, const void* src, size_t bytes) override;
    void window_read_pieces(const Pieces& pieces) override;
    bool device_store(void* addr, uint64_t value, unsigned bytes) override {
        if (__builtin_expect(capture_ != nullptr, 0)) note_store(addr, value);
        return engine_.store(addr, value, bytes);
    }
    void check_access(const void* p, size_t bytes, bool write) override;
    void idle() override;
    void step() override;

  private:
    CqeStatus deliver(uint32_t peer, uint64_t remote_offset, const uint8_t* source, uint32_t bytes) override;
    void deliver_faulty(FaultKind fault, uint32_t peer, uint64_t remote_offset, const uint8_t* source, uint32_t bytes);
    bool is_dispatch_half(uint64_t offset) const;
    bool is_in_own_window(const void* p, uint64_t bytes) const {
        const uint64_t at = reinterpret_cast<uint64_t>(p) - reinterpret_cast<uint64_t>(own_window_);
        return at < windows_->window_bytes() && bytes <= windows_->window_bytes() - at;
    }
    void require_readable(const void* src, size_t bytes) const;
    void put(uint32_t owner, uint8_t* dst, const uint8_t* src, size_t bytes, bool past_caches);
    // For whoever watches; apart from the ways that all accesses take.
    [[gnu::cold]] void put_watched(uint32_t owner, uint8_t* dst, const uint8_t* src, size_t bytes, bool past_caches);
    [[gnu::cold]] void note_store(const void* addr, uint64_t value);
    [[gnu::cold]] void note_read(const void* src, uint64_t bytes, uint64_t piece_bytes);
    void check_world();
    void abort(Code code, uint32_t root);
    Code peer_failure(uint32_t peer, bool is_gone) const;

    FabricConfig config_;
    std::unique_ptr<WindowTable> windows_;
    const uint8_t* own_window_;
    Memory& memory_;
    Liveness liveness_;
    Waiter waiter_;
    UrmaEngine engine_;
    TrafficMeter meter_;
    Capture* capture_ = nullptr;
    FaultInjector fault_;
    HugePages huge_pages_;
    OperationKind kind_ = OperationKind::kDispatch;
    std::vector<GmRange> ranges_;      // what kernels may touch beside windows, `memory` included
    size_t last_range_ = 0;            // that held an access; the next one is often in it too
    bool writes_past_caches_ = false;  // this operation
    uint64_t doorbells_at_begin_ = 0;
    uint64_t next_check_ns_ = 0;
    bool was_interrupted_ = false;
    std::atomic<bool> abort_requested_{false};
};

}  // namespace ascend_deepep::twin
