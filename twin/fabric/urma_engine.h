// SPDX-License-Identifier: Apache-2.0
// The URMA engine of the host twin: consumes 64 B WQEs from SQ rings after a doorbell, as hardware would, checks them,
// hands the data on and writes CQEs. Layer: twin/fabric. It knows rings, registers and addresses, and no operator.
// Whatever a WQE holds, the answer is a completion with a status; nothing here trusts what a kernel wrote.
#pragma once

#include <cstdint>
#include <vector>

#include "contract/arch35/cqe.h"
#include "contract/arch35/wqe.h"
#include "contract/queue_context.h"
#include "twin/fabric/window.h"
#include "twin/runtime/capture.h"

namespace ascend_deepep::twin {

// The check a WQE failed: substatus of its CQE. The status says what kind of access it was.
enum class WqeFault : uint32_t {
    kNone = 0,
    kOverrun,      // the doorbell's producer index is more than a ring ahead of the engine: index of the first WQE
    kOwner,        // owner bit of another pass: the doorbell came before the WQE
    kOpcode,       // not WRITE
    kNumSge,       // not 1
    kCompletion,   // no completion asked for
    kJetty,        // jetty type or target hint is not the queue's
    kTpn,          // not the queue's
    kEid,          // not the peer's
    kSegment,      // not the peer's window
    kToken,        // token value or token enable is not the peer's
    kLocalToken,   // not the own window's
    kLength,       // 0, or not whole blocks
    kLocalRange,   // not whole blocks inside the own window
    kRemoteRange,  // not whole blocks inside the peer's window, in fabric addresses
    kInjected,     // a planted fault
    kCqOverrun,    // a completion found no free CQE; the queue stops
    kCqIndex,      // the CQ doorbell moves back, or past what was completed: in no CQE; the queue stops
};

// Asks to come after the earlier WQEs of its queue. What relaxed order (1) promises is not documented: nothing, here.
constexpr bool wqe_is_ordered(const WqeFields& wqe) {
    constexpr uint32_t kStrong = 2;
    return wqe.fence != 0 || wqe.place_order == kStrong;
}

// How a rank addresses a peer's window. Derived from the nonce that the peer drew at rendezvous.
struct FabricAddress {
    uint64_t base;  // fabric address of the window: not a pointer of any process
    uint32_t tpn, segment, token, jetty_type, target_hint;
    uint32_t eid[4];
};
FabricAddress fabric_address(uint32_t rank, uint64_t nonce);

// Where the data of a good WQE goes, and what fails it nevertheless.
class WriteSink {
  public:
    virtual ~WriteSink() = default;
    virtual CqeStatus deliver(uint32_t peer, uint64_t remote_offset, const uint8_t* source, uint32_t bytes) = 0;
};

struct EngineConfig {
    uint32_t rank;
    uint32_t sq_depth;          // power of two
    uint32_t cq_depth;          // power of two, normally the same
    const uint8_t* local_base;  // the own window, where sources must lie
    uint64_t window_bytes;      // of every rank
    std::vector<FabricAddress> ranks;
    uint32_t queues_per_peer = 1;
    uint32_t first_index = 0;  // of all queues, as if that many WQEs had been posted and completed before
    bool is_stepped;           // false: a doorbell runs its WQEs at once. true: run_one_each() does, later
};

class UrmaEngine {
  public:
    // Bytes of `memory` that the rings and the queue table take.
    static uint64_t memory_bytes(uint32_t num_ranks, uint32_t sq_depth, uint32_t cq_depth,
                                 uint32_t queues_per_peer = 1);

    UrmaEngine(const EngineConfig& config, Memory& memory, WriteSink& sink);
    ~UrmaEngine();
    UrmaEngine(const UrmaEngine&) = delete;
    UrmaEngine& operator=(const UrmaEngine&) = delete;

    // The table kernels read: QueueContext[num_ranks][queues_per_peer], stride kQueueContextStride. A queue goes by its
    // index in the table here.
    uint64_t queue_table() const { return reinterpret_cast<uint64_t>(table_); }
    const QueueContext& context(uint32_t queue) const {
        return *reinterpret_cast<const QueueContext*>(table_ + queue * kQueueContextStride);
    }
    uint32_t num_queues() const { return static_cast<uint32_t>(queues_.size()); }
    uint32_t peer_of(uint32_t queue) const { return queue / config_.queues_per_peer; }

    bool is_register(const void* address) const {
        return reinterpret_cast<uint64_t>(address) - registers_ < registers_bytes_;
    }
    // A device store. False: no register of this engine. Registers have 32 bits; a store of another width is lost.
    bool store(const void* address, uint64_t value, unsigned bytes) {
        const uint64_t at = reinterpret_cast<uint64_t>(address) - registers_;
        if (__builtin_expect(at >= registers_bytes_, 1)) return false;
        if (bytes == kRegisterBytes) ring(at, static_cast<uint32_t>(value));
        return true;
    }

    // Null: nobody watches.
    void set_capture(Capture* capture) { capture_ = capture; }

    // Stepped execution: WQEs rung and not yet executed.
    bool has_pending() const { return num_pending_ != 0; }
    void run_one_each();

    // The same by a driver that orders what happens to a WQE itself: it takes one off its queue, reads and checks it,
    // moves its data and completes it, each at a moment of its own.
    struct Verdict {
        CqeStatus status = CqeStatus::kOk;
        WqeFault fault = WqeFault::kNone;
    };
    uint32_t pending(uint32_t queue) const { return queues_[queue].rung - queues_[queue].consumed; }
    uint32_t take(uint32_t queue);  // its index; pending(queue) != 0
    // What has stopped the queue: kOverrun, kCqOverrun or kCqIndex; kNone: nothing has.
    WqeFault stopped_by(uint32_t queue) const { return queues_[queue].stopped_by; }
    Verdict read(uint32_t queue, uint32_t index, WqeFields* wqe) const;
    void complete(uint32_t queue, uint32_t index, const Verdict& verdict, uint32_t bytes);
    uint64_t remote_offset(uint32_t queue, const WqeFields& wqe) const {
        return wqe.remote_address - config_.ranks[peer_of(queue)].base;
    }

    uint64_t wqes() const { return wqes_; }            // consumed, good or bad
    uint64_t doorbells() const { return doorbells_; }  // of SQs

  private:
    static constexpr unsigned kRegisterBytes = 4;

    struct Queue {
        uint32_t rung = 0;         // producer index of the last doorbell
        uint32_t consumed = 0;     // WQEs executed
        uint32_t cq_produced = 0;  // CQEs written
        uint32_t cq_consumed = 0;  // as the CQ doorbell says
        WqeFault stopped_by = WqeFault::kNone;
        bool is_stopped() const { return stopped_by != WqeFault::kNone; }
    };

    uint32_t tpn_of(uint32_t queue) const;
    void open(uint32_t queue, Memory& memory);
    void age(uint32_t queue);
    void ring(uint64_t at, uint32_t value);
    void ring_sq(uint32_t queue, uint32_t producer);
    void ring_cq(uint32_t queue, uint32_t consumer);
    void execute_one(uint32_t queue);
    void execute_watched(uint32_t queue);
    void move(uint32_t queue, const WqeFields& wqe, Verdict* verdict);
    Verdict check(uint32_t queue, const WqeFields& wqe, uint32_t index) const;
    void stop(uint32_t queue, WqeFault why);

    EngineConfig config_;
    WriteSink& sink_;
    Capture* capture_ = nullptr;
    uint8_t* table_;
    uint64_t registers_;  // a page that is never mapped: stores reach it through store() alone
    uint64_t registers_bytes_;
    std::vector<Queue> queues_;
    uint64_t num_pending_ = 0;
    uint64_t wqes_ = 0, doorbells_ = 0;
};

}  // namespace ascend_deepep::twin
