// SPDX-License-Identifier: Apache-2.0
// A queue of the simulator without kernels: a driver with rings, and a wire to one peer. Layer: tests.
#pragma once

#include <cstring>

#include "check.h"
#include "twin/sim/urma_driver.h"

namespace ascend_deepep::test {

// Rank 0 writes one block of ones to each of the first slots of a half of rank 1.
struct QueueMachine {
    static constexpr uint32_t kWqes = 4;  // of a ring
    static constexpr uint64_t kStaleTag = uint64_t{1} << 40;

    CommunicatorLimits limits{2, 16, 64, 2, 4, 0};
    sim::Shared shared;
    sim::WindowArena arena;
    sim::Actors actors;
    sim::Wire wire;
    twin::Memory memory{twin::UrmaEngine::memory_bytes(2, kWqes, kWqes)};
    sim::UrmaDriver driver;

    // `block_ns`: of the slowest link.
    explicit QueueMachine(uint64_t seed, uint64_t block_ns = 0)
        : shared(drawn(seed, block_ns)),
          arena(2, window_layout(limits), kStaleTag, shared.random),
          actors(shared, 2, 1, [](uint32_t) { return true; }),
          wire(shared, actors, arena, {0, 1}),
          driver(shared, wire, arena, config(), memory, 0, 0) {
        uint8_t* source = arena.window(0) + offset(WindowRegion::kSendBuffer);
        std::memset(source, 0, kBlockBytes);
        std::memset(source, 1, kBlockDataBytes);
        arena.shadow(0).mark(offset(WindowRegion::kSendBuffer), kBlockBytes);
        for (uint32_t index = 0; index < kWqes; ++index)
            std::memset(arena.window(1) + slot(index), 0, kBlockDataBytes);
    }

    static sim::Shared drawn(uint64_t seed, uint64_t block_ns) {
        sim::Shared shared(seed);
        shared.schedule = sim::draw_schedule(seed, shared.random);
        shared.schedule.block_ns = block_ns;
        return shared;
    }
    twin::EngineConfig config() {
        twin::EngineConfig made{};
        made.sq_depth = made.cq_depth = kWqes;
        made.local_base = arena.window(0);
        made.window_bytes = arena.window_bytes();
        made.ranks = {twin::fabric_address(0, 11), twin::fabric_address(1, 22)};
        made.is_stepped = true;
        return made;
    }
    uint64_t offset(WindowRegion region) const { return arena.layout().regions[static_cast<uint32_t>(region)].offset; }
    uint64_t slot(uint32_t index) const { return offset(WindowRegion::kCombineHalf0) + index * kBlockBytes; }

    // Builds WQE `index`, with these order bits.
    void put(uint32_t index, uint32_t order = 0) {
        const uint32_t place = index % kWqes;
        const QueueContext& queue = driver.engine().context(1);
        const uint64_t local = reinterpret_cast<uint64_t>(arena.window(0)) + offset(WindowRegion::kSendBuffer);
        const uint64_t remote = queue.remote_base + slot(place);
        const uint32_t words[kWqeWords] = {
            wqe_control_word(wqe_owner(index, kWqes), queue.jetty_type, queue.token_enable) | order,
            wqe_opcode_word(WqeOpcode::kWrite, queue.target_hint),
            wqe_transport_word(queue.tpn),
            wqe_segment_word(queue.remote_segment),
            queue.remote_eid[0],
            queue.remote_eid[1],
            queue.remote_eid[2],
            queue.remote_eid[3],
            queue.remote_token,
            0,
            static_cast<uint32_t>(remote),
            static_cast<uint32_t>(remote >> 32),
            kBlockBytes,
            queue.local_token,
            static_cast<uint32_t>(local),
            static_cast<uint32_t>(local >> 32)};
        std::memcpy(reinterpret_cast<uint8_t*>(queue.sq_base) + place * kWqeBytes, words, kWqeBytes);
    }

    uint32_t visible_bytes(uint32_t index) const {
        const uint8_t* block = arena.window(1) + slot(index);
        uint32_t bytes = 0;
        for (uint32_t at = 0; at < kBlockDataBytes; ++at)
            bytes += block[at] == 1 ? 1 : 0;
        return bytes;
    }
    void handle(const sim::Event& event) {
        shared.now = event.due;
        if (event.kind == sim::EventKind::kFetch) driver.fetch(event.a);
        if (event.kind == sim::EventKind::kExecute) driver.execute(event.a);
        if (event.kind == sim::EventKind::kComplete) driver.complete(event.a);
        if (event.kind == sim::EventKind::kPiece) wire.piece(event);
    }
    void ring(uint32_t producer) {
        CHECK(driver.store(reinterpret_cast<void*>(driver.engine().context(1).sq_doorbell), producer, 4));
    }
    void ring_cq(uint32_t consumer) {
        CHECK(driver.store(reinterpret_cast<void*>(driver.engine().context(1).cq_doorbell), consumer, 4));
    }
    // Until nothing is under way.
    void run() {
        while (!shared.events.empty())
            handle(shared.events.take());
    }
};

}  // namespace ascend_deepep::test
