// SPDX-License-Identifier: Apache-2.0
// The steps of a rank's WQEs, each at a moment drawn: read from the ring in order, source read and sent, completed, the
// last two in any order among WQEs. Layer: twin/sim. Rings, checks and CQEs are those of twin/fabric/urma_engine.
// A WQE whose order bits ask for it is executed after the earlier ones of its queue, and its data becomes visible after
// theirs.
// A3: a WQE is read from its ring before it completes, and the k-th read precedes the k-th completion. Dropped: a WQE
// is read from its ring only when it is executed.
#pragma once

#include <cstdint>
#include <vector>

#include "twin/fabric/urma_engine.h"
#include "twin/sim/wire.h"

namespace ascend_deepep::sim {

class UrmaDriver final : private twin::WriteSink {
  public:
    // `process`: of the rank; `seat`: the number its events carry.
    UrmaDriver(Shared& shared, Wire& wire, WindowArena& arena, const twin::EngineConfig& config, twin::Memory& memory,
               uint32_t process, uint32_t seat);

    const twin::UrmaEngine& engine() const { return engine_; }
    bool is_register(const void* address) const { return engine_.is_register(address); }
    // False: no register.
    bool store(const void* address, uint64_t value, unsigned bytes);

    void fetch(uint32_t queue);
    void execute(uint32_t record);
    // Where in `memory` the CQE now stands.
    uint64_t complete(uint32_t record);

  private:
    struct Record {
        uint32_t queue = 0;
        uint32_t index = 0;
        bool is_held = false;  // its time has come, that of an earlier one has not
        WqeFields fields{};
        twin::UrmaEngine::Verdict verdict;
    };

    CqeStatus deliver(uint32_t peer, uint64_t remote_offset, const uint8_t* source, uint32_t bytes) override;
    struct Queue {
        bool is_fetching = false;    // its next fetch is due
        uint32_t produced = 0;       // CQEs written
        std::vector<uint32_t> open;  // records read from the ring and not executed, in the order of the ring
        uint64_t landed_ns = 0;      // when all that it has written so far is visible
    };

    void read(Record& record);
    void check_queue(uint32_t queue);
    uint32_t peer_of(const Record& record) const { return engine_.peer_of(record.queue); }
    bool must_wait(uint32_t number);
    bool move_data(Record& record);
    void executed(uint32_t number);
    bool is_struck(SimFault kind, uint32_t peer);

    Shared& shared_;
    Wire& wire_;
    WindowArena& arena_;
    twin::Memory& memory_;
    uint32_t rank_;
    uint32_t process_;
    uint32_t seat_;
    twin::UrmaEngine engine_;
    std::vector<Queue> queues_;  // as the queue table has them
    std::vector<Record> records_;
    std::vector<uint32_t> free_;
    uint64_t visible_after_ns_ = 0;  // of the write that is being delivered
    uint64_t landed_ns_ = 0;         // when all of it is visible
};

}  // namespace ascend_deepep::sim
