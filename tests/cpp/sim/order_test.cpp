// SPDX-License-Identifier: Apache-2.0
// Order among WQEs of a queue: none, unless their order bits ask for it. A driver with rings and a wire, without
// kernels. Layer: tests.
#include <cstring>
#include <vector>

#include "check.h"
#include "twin/sim/urma_driver.h"

namespace ascend_deepep::test {
namespace {

constexpr uint32_t kWqes = 4;
constexpr uint32_t kFence = 1U << kWqeFenceBit;
constexpr uint32_t kRelaxed = 1U << kWqePlaceOrderShift;
constexpr uint32_t kStrong = 2U << kWqePlaceOrderShift;
constexpr uint64_t kStaleTag = uint64_t{1} << 40;
constexpr uint64_t kSeeds = 40;

// Rank 0 writes one block of ones to each of the first slots of a half of rank 1.
struct Machine {
    CommunicatorLimits limits{2, 16, 64, 2, 4, 0};
    sim::Shared shared;
    sim::WindowArena arena;
    sim::Actors actors;
    sim::Wire wire;
    twin::Memory memory{twin::UrmaEngine::memory_bytes(2, kWqes, kWqes)};
    sim::UrmaDriver driver;

    explicit Machine(uint64_t seed)
        : shared(drawn(seed)),
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

    static sim::Shared drawn(uint64_t seed) {
        sim::Shared shared(seed);
        shared.schedule = sim::draw_schedule(shared.random);
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

    void put(uint32_t index, uint32_t order) {
        const QueueContext& queue = driver.engine().context(1);
        const uint64_t local = reinterpret_cast<uint64_t>(arena.window(0)) + offset(WindowRegion::kSendBuffer);
        const uint64_t remote = queue.remote_base + slot(index);
        const uint32_t words[kWqeWords] = {wqe_control_word(1, queue.jetty_type, queue.token_enable) | order,
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
        std::memcpy(reinterpret_cast<uint8_t*>(queue.sq_base) + index * kWqeBytes, words, kWqeBytes);
    }

    uint32_t visible_bytes(uint32_t index) const {
        const uint8_t* block = arena.window(1) + slot(index);
        uint32_t bytes = 0;
        for (uint32_t at = 0; at < kBlockDataBytes; ++at)
            bytes += block[at] == 1 ? 1 : 0;
        return bytes;
    }
    // Some byte of the last block is visible, and one of an earlier block is not.
    bool has_overtaken() const {
        bool is_missing = false;
        for (uint32_t index = 0; index + 1 < kWqes; ++index)
            is_missing = is_missing || visible_bytes(index) != kBlockDataBytes;
        return is_missing && visible_bytes(kWqes - 1) != 0;
    }

    void handle(const sim::Event& event) {
        shared.now = event.due;
        if (event.kind == sim::EventKind::kFetch) driver.fetch(event.a);
        if (event.kind == sim::EventKind::kExecute) driver.execute(event.a);
        if (event.kind == sim::EventKind::kComplete) driver.complete(event.a);
        if (event.kind == sim::EventKind::kPiece) wire.piece(event);
    }
};

// In how many worlds the last WQE, with these order bits, overtakes an earlier one.
uint32_t overtaken(uint32_t order, bool is_kept = true) {
    uint32_t worlds = 0;
    for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
        Machine machine(seed);
        machine.shared.assumptions.order_bits_are_kept = is_kept;
        for (uint32_t index = 0; index < kWqes; ++index)
            machine.put(index, index + 1 == kWqes ? order : 0);
        const QueueContext& queue = machine.driver.engine().context(1);
        CHECK(machine.driver.store(reinterpret_cast<void*>(queue.sq_doorbell), kWqes, 4));
        bool has_overtaken = false;
        while (!machine.shared.events.empty()) {
            machine.handle(machine.shared.events.take());
            has_overtaken = has_overtaken || machine.has_overtaken();
        }
        for (const sim::Finding& finding : machine.shared.findings.all())
            check::fail(__FILE__, __LINE__, "[" + finding.checker + "] " + finding.what);
        for (uint32_t index = 0; index < kWqes; ++index) {
            CHECK_EQ(machine.visible_bytes(index), kBlockDataBytes);
            uint32_t cqe;
            std::memcpy(&cqe, reinterpret_cast<const uint8_t*>(queue.cq_base) + index * kCqeBytes, sizeof(cqe));
            CHECK(cqe_is_valid(cqe, index, kWqes) && cqe_status(cqe) == 0);
        }
        worlds += has_overtaken ? 1 : 0;
    }
    return worlds;
}

TEST(wqes_without_order_bits_overtake_each_other) {
    CHECK(overtaken(0) > 0);
    CHECK(overtaken(kRelaxed) > 0);
}

TEST(a_wqe_with_a_fence_or_strong_order_overtakes_none) {
    for (uint32_t order : {kFence, kStrong, kStrong | kFence}) {
        CHECK_EQ(overtaken(order), 0U);
        CHECK(overtaken(order, false) > 0);
    }
}

// The words that the kernels write ask for nothing; those of DeepEP for Ascend (0x2D) have the fence.
TEST(order_bits_of_published_words) {
    const auto fields = [](uint32_t control) {
        const uint32_t words[kWqeWords] = {control};
        return decode_wqe(words);
    };
    CHECK(!twin::wqe_is_ordered(fields(wqe_control_word(1, 1, 1))));
    CHECK(twin::wqe_is_ordered(fields(0xB02D0003U)));
    CHECK_EQ(fields(0xB02D0003U).place_order, 1U);
    CHECK_EQ(fields(0xB02D0003U).fence, 1U);
}

}  // namespace
}  // namespace ascend_deepep::test
