// SPDX-License-Identifier: Apache-2.0
// The URMA engine against rings made by hand: golden words, passes of the ring, every refusal, overruns.
// Layer: tests. The words are those of the field's published kernel, written down as numbers.
#include "twin/fabric/urma_engine.h"

#include <cstring>
#include <functional>
#include <vector>

#include "check.h"

namespace {

using namespace ascend_deepep;
using namespace ascend_deepep::twin;

constexpr uint32_t kDepth = 4;
constexpr uint32_t kPeer = 1;
constexpr uint64_t kWindowBytes = 64 * 1024;

struct Write {
    uint32_t peer;
    uint64_t offset;
    const uint8_t* source;
    uint32_t bytes;
};

struct RecordingSink : WriteSink {
    std::vector<Write> writes;
    CqeStatus answer = CqeStatus::kOk;
    CqeStatus deliver(uint32_t peer, uint64_t offset, const uint8_t* source, uint32_t bytes) override {
        writes.push_back({peer, offset, source, bytes});
        return answer;
    }
};

// Two ranks, seen from rank 0, whose window is plain memory here.
struct Machine {
    Memory window{kWindowBytes};
    Memory memory{UrmaEngine::memory_bytes(2, kDepth, kDepth)};
    RecordingSink sink;
    UrmaEngine engine;

    explicit Machine(bool is_stepped = false) : engine(config(is_stepped), memory, sink) {}

    EngineConfig config(bool is_stepped) {
        EngineConfig made{};
        made.sq_depth = kDepth;
        made.cq_depth = kDepth;
        made.local_base = window.data();
        made.window_bytes = kWindowBytes;
        made.ranks = {fabric_address(0, 11), fabric_address(1, 22)};
        made.is_stepped = is_stepped;
        return made;
    }
    const QueueContext& queue() { return engine.context(kPeer); }

    // The words of a good WQE number `index`: local block `index`, remote block 2 * index.
    std::vector<uint32_t> wqe(uint32_t index) {
        const QueueContext& q = queue();
        const uint64_t remote = q.remote_base + 1024 * index;
        const uint64_t local = reinterpret_cast<uint64_t>(window.data()) + 512 * index;
        return {(index & kDepth) == 0 ? 0xB0200000U : 0x30200000U,
                0x00000300U | q.target_hint,
                q.tpn | (1U << 24),
                q.remote_segment,
                q.remote_eid[0],
                q.remote_eid[1],
                q.remote_eid[2],
                q.remote_eid[3],
                q.remote_token,
                0,
                static_cast<uint32_t>(remote),
                static_cast<uint32_t>(remote >> 32),
                512,
                q.local_token,
                static_cast<uint32_t>(local),
                static_cast<uint32_t>(local >> 32)};
    }
    void put(uint32_t index, const std::vector<uint32_t>& words) {
        std::memcpy(reinterpret_cast<uint8_t*>(queue().sq_base) + 64 * (index % kDepth), words.data(), 64);
    }
    void ring(uint32_t producer) { CHECK(engine.store(reinterpret_cast<void*>(queue().sq_doorbell), producer, 4)); }
    void ring_cq(uint32_t consumer) {
        CHECK(engine.store(reinterpret_cast<void*>(queue().cq_doorbell), consumer & 0xFFFFFFU, 4));
    }
    const uint32_t* cqe(uint32_t index) {
        return reinterpret_cast<const uint32_t*>(queue().cq_base + 64 * (index % kDepth));
    }
    bool cqe_is_there(uint32_t index) { return cqe_is_valid(cqe(index)[0], index, kDepth); }
};

// Two queues to each of two ranks, seen from rank 0.
TEST(queues_to_one_peer_are_apart) {
    constexpr uint32_t kQueues = 2;
    Memory window{kWindowBytes};
    Memory memory{UrmaEngine::memory_bytes(2, kDepth, kDepth, kQueues)};
    RecordingSink sink;
    Machine one;
    EngineConfig config = one.config(false);
    config.local_base = window.data();
    config.queues_per_peer = kQueues;
    UrmaEngine engine(config, memory, sink);
    CHECK_EQ(engine.num_queues(), 4U);
    CHECK_EQ(engine.peer_of(1), 0U);
    CHECK_EQ(engine.peer_of(2), 1U);
    const QueueContext &first = engine.context(2), &second = engine.context(3);
    CHECK(first.sq_base != second.sq_base && first.cq_base != second.cq_base && first.tpn != second.tpn);
    CHECK(first.sq_doorbell != second.sq_doorbell && first.remote_base == second.remote_base);
    std::vector<uint32_t> words = one.wqe(0);
    words[14] = static_cast<uint32_t>(reinterpret_cast<uint64_t>(window.data()));
    words[15] = static_cast<uint32_t>(reinterpret_cast<uint64_t>(window.data()) >> 32);
    const auto ring = [&](const QueueContext& queue) {
        std::memcpy(reinterpret_cast<void*>(queue.sq_base), words.data(), kWqeBytes);
        CHECK(engine.store(reinterpret_cast<void*>(queue.sq_doorbell), 1, 4));
        return *reinterpret_cast<const uint32_t*>(queue.cq_base);
    };
    const uint32_t stray = ring(second);  // composed for the first queue
    CHECK_EQ(cqe_status(stray), static_cast<uint32_t>(CqeStatus::kRemoteAccess));
    CHECK_EQ(cqe_substatus(stray), static_cast<uint32_t>(WqeFault::kTpn));
    CHECK(sink.writes.empty());
    CHECK_EQ(cqe_status(ring(first)), 0U);
    CHECK_EQ(sink.writes.size(), 1U);
    CHECK_EQ(sink.writes[0].peer, 1U);
}

TEST(engine_moves_one_block_and_completes) {
    Machine machine;
    machine.put(0, machine.wqe(0));
    CHECK(!machine.cqe_is_there(0));
    machine.ring(1);
    CHECK_EQ(machine.sink.writes.size(), 1U);
    CHECK_EQ(machine.sink.writes[0].peer, kPeer);
    CHECK_EQ(machine.sink.writes[0].offset, 0U);
    CHECK_EQ(machine.sink.writes[0].bytes, 512U);
    CHECK(machine.sink.writes[0].source == machine.window.data());
    // Owner 1 on the first pass, opcode 3, status 0.
    CHECK_EQ(machine.cqe(0)[0], 0x00000034U);
    CHECK_EQ(machine.cqe(0)[1], 0U);
    CHECK_EQ(machine.cqe(0)[4], 512U);
    CHECK(machine.cqe_is_there(0));
    CHECK(!machine.cqe_is_there(1));
}

TEST(engine_reads_the_published_words) {
    // A WQE of rank 0 for itself has target hint 0, as published; the words that depend on the peer are its own.
    Machine machine;
    const QueueContext& self = machine.engine.context(0);
    CHECK_EQ(self.target_hint, 0U);
    std::vector<uint32_t> words = machine.wqe(0);
    words[1] = 0x00000300U;
    words[2] = self.tpn | 0x01000000U;
    words[3] = self.remote_segment;
    std::memcpy(&words[4], self.remote_eid, 16);
    words[8] = self.remote_token;
    words[10] = static_cast<uint32_t>(self.remote_base);
    words[11] = static_cast<uint32_t>(self.remote_base >> 32);
    std::memcpy(reinterpret_cast<void*>(self.sq_base), words.data(), 64);
    CHECK(machine.engine.store(reinterpret_cast<void*>(self.sq_doorbell), 1, 4));
    CHECK_EQ(machine.sink.writes.size(), 1U);
    CHECK_EQ(machine.sink.writes[0].peer, 0U);
    CHECK_EQ(*reinterpret_cast<const uint32_t*>(self.cq_base), 0x00000034U);
}

TEST(engine_goes_round_the_ring) {
    Machine machine;
    const uint32_t expected_owner[12] = {1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1};
    for (uint32_t index = 0; index < 12; ++index) {
        machine.put(index, machine.wqe(index));
        machine.ring(index + 1);
        CHECK(machine.cqe_is_there(index));
        CHECK_EQ((machine.cqe(index)[0] >> 2) & 1U, expected_owner[index]);
        CHECK_EQ(cqe_status(machine.cqe(index)[0]), 0U);
        CHECK_EQ(cqe_entry_index(machine.cqe(index)[1]), index % kDepth);
        machine.ring_cq(index + 1);
    }
    CHECK_EQ(machine.sink.writes.size(), 12U);
    CHECK_EQ(machine.sink.writes[11].offset, 11U * 1024U);
    CHECK_EQ(machine.engine.wqes(), 12U);
    CHECK_EQ(machine.engine.doorbells(), 12U);
}

TEST(engine_takes_a_batch_across_the_wrap) {
    Machine machine;
    for (uint32_t index = 0; index < 3; ++index)
        machine.put(index, machine.wqe(index));
    machine.ring(3);
    machine.ring_cq(3);
    for (uint32_t index = 3; index < 7; ++index)
        machine.put(index, machine.wqe(index));
    machine.ring(7);
    CHECK_EQ(machine.sink.writes.size(), 7U);
    for (uint32_t index = 3; index < 7; ++index)
        CHECK(machine.cqe_is_there(index));
    CHECK_EQ(machine.engine.doorbells(), 2U);
}

struct Refusal {
    const char* what;
    std::function<void(std::vector<uint32_t>&)> spoil;
    CqeStatus status;
    WqeFault fault;
};

void shift_word64(std::vector<uint32_t>& words, size_t low, int64_t by) {
    uint64_t value = words[low] | (uint64_t{words[low + 1]} << 32);
    value += static_cast<uint64_t>(by);
    words[low] = static_cast<uint32_t>(value);
    words[low + 1] = static_cast<uint32_t>(value >> 32);
}

std::vector<Refusal> refusals() {
    using Words = std::vector<uint32_t>;
    const auto far = static_cast<int64_t>(kWindowBytes);
    return {
        {"owner of the next pass", [](Words& w) { w[0] ^= 0x80000000U; }, CqeStatus::kBadWqe, WqeFault::kOwner},
        {"READ", [](Words& w) { w[1] = (w[1] & ~0xFF00U) | 0x600U; }, CqeStatus::kBadWqe, WqeFault::kOpcode},
        {"WRITE with notify", [](Words& w) { w[1] = (w[1] & ~0xFF00U) | 0x500U; }, CqeStatus::kBadWqe,
         WqeFault::kOpcode},
        {"two elements", [](Words& w) { w[2] += 1U << 24; }, CqeStatus::kBadWqe, WqeFault::kNumSge},
        {"no completion", [](Words& w) { w[0] &= ~(1U << 21); }, CqeStatus::kBadWqe, WqeFault::kCompletion},
        {"jetty type", [](Words& w) { w[0] ^= 1U << 29; }, CqeStatus::kBadWqe, WqeFault::kJetty},
        {"target hint", [](Words& w) { w[1] ^= 1U; }, CqeStatus::kBadWqe, WqeFault::kJetty},
        {"length 0", [](Words& w) { w[12] = 0; }, CqeStatus::kBadWqe, WqeFault::kLength},
        {"half a block", [](Words& w) { w[12] = 256; }, CqeStatus::kBadWqe, WqeFault::kLength},
        {"another tpn", [](Words& w) { w[2] ^= 1U; }, CqeStatus::kRemoteAccess, WqeFault::kTpn},
        {"another eid", [](Words& w) { w[7] ^= 1U; }, CqeStatus::kRemoteAccess, WqeFault::kEid},
        {"another segment", [](Words& w) { w[3] ^= 1U; }, CqeStatus::kRemoteAccess, WqeFault::kSegment},
        {"token value 0", [](Words& w) { w[8] = 0; }, CqeStatus::kBadToken, WqeFault::kToken},
        {"token off", [](Words& w) { w[0] &= ~(1U << 28); }, CqeStatus::kBadToken, WqeFault::kToken},
        {"local token", [](Words& w) { w[13] ^= 2U; }, CqeStatus::kBadToken, WqeFault::kLocalToken},
        {"source before the window", [](Words& w) { shift_word64(w, 14, -512); }, CqeStatus::kLocalAccess,
         WqeFault::kLocalRange},
        {"source past the window", [far](Words& w) { shift_word64(w, 14, far); }, CqeStatus::kLocalAccess,
         WqeFault::kLocalRange},
        {"source across the end",
         [far](Words& w) {
             shift_word64(w, 14, far - 512);
             w[12] = 1024;
         },
         CqeStatus::kLocalAccess, WqeFault::kLocalRange},
        {"source off a block", [](Words& w) { shift_word64(w, 14, 32); }, CqeStatus::kLocalAccess,
         WqeFault::kLocalRange},
        {"target before the window", [](Words& w) { shift_word64(w, 10, -512); }, CqeStatus::kRemoteAccess,
         WqeFault::kRemoteRange},
        {"target past the window", [far](Words& w) { shift_word64(w, 10, far); }, CqeStatus::kRemoteAccess,
         WqeFault::kRemoteRange},
        {"target off a block", [](Words& w) { shift_word64(w, 10, 64); }, CqeStatus::kRemoteAccess,
         WqeFault::kRemoteRange},
        {"all ones", [](Words& w) { w.assign(16, 0xFFFFFFFFU); }, CqeStatus::kBadWqe, WqeFault::kOpcode},
        {"all zeros", [](Words& w) { w.assign(16, 0U); }, CqeStatus::kBadWqe, WqeFault::kOwner},
    };
}

TEST(engine_refuses_with_a_status_and_goes_on) {
    for (const Refusal& refusal : refusals()) {
        Machine machine;
        std::vector<uint32_t> words = machine.wqe(0);
        refusal.spoil(words);
        machine.put(0, words);
        machine.put(1, machine.wqe(1));
        machine.ring(2);
        const uint32_t word = machine.cqe(0)[0];
        if (cqe_status(word) != static_cast<uint32_t>(refusal.status) ||
            cqe_substatus(word) != static_cast<uint32_t>(refusal.fault)) {
            check::fail(__FILE__, __LINE__,
                        std::string(refusal.what) + ": status " + std::to_string(cqe_status(word)) + ", substatus " +
                            std::to_string(cqe_substatus(word)));
        }
        CHECK(machine.cqe_is_there(0));
        CHECK_EQ(machine.sink.writes.size(), 1U);  // the good one behind it
        CHECK_EQ(cqe_status(machine.cqe(1)[0]), 0U);
    }
}

TEST(engine_passes_on_what_the_fabric_answers) {
    Machine machine;
    machine.sink.answer = CqeStatus::kRemoteAccess;
    machine.put(0, machine.wqe(0));
    machine.ring(1);
    CHECK_EQ(cqe_status(machine.cqe(0)[0]), static_cast<uint32_t>(CqeStatus::kRemoteAccess));
    CHECK_EQ(cqe_substatus(machine.cqe(0)[0]), static_cast<uint32_t>(WqeFault::kInjected));
}

TEST(engine_stops_at_a_doorbell_past_the_ring) {
    Machine machine;
    machine.put(0, machine.wqe(0));
    machine.ring(kDepth + 1);
    CHECK_EQ(machine.sink.writes.size(), 0U);
    CHECK_EQ(cqe_substatus(machine.cqe(0)[0]), static_cast<uint32_t>(WqeFault::kOverrun));
    machine.ring(1);  // too late: the index is lost
    CHECK_EQ(machine.sink.writes.size(), 0U);
}

TEST(engine_stops_at_a_doorbell_that_moves_back) {
    Machine machine;
    for (uint32_t index = 0; index < 2; ++index)
        machine.put(index, machine.wqe(index));
    machine.ring(2);
    machine.ring(1);
    CHECK_EQ(machine.sink.writes.size(), 2U);
    CHECK_EQ(cqe_substatus(machine.cqe(2)[0]), static_cast<uint32_t>(WqeFault::kOverrun));
}

TEST(engine_reports_a_cq_overrun) {
    Machine machine;
    for (uint32_t index = 0; index < 4; ++index)
        machine.put(index, machine.wqe(index));
    machine.ring(4);  // four completions that nobody consumes
    machine.put(4, machine.wqe(4));
    machine.ring(5);
    const uint32_t word = machine.cqe(3)[0];
    CHECK(machine.cqe_is_there(3));
    CHECK_EQ(cqe_status(word), static_cast<uint32_t>(CqeStatus::kLost));
    CHECK_EQ(cqe_substatus(word), static_cast<uint32_t>(WqeFault::kCqOverrun));
    CHECK_EQ(cqe_status(machine.cqe(0)[0]), 0U);
    machine.ring_cq(4);
    machine.ring(6);  // stopped for good
    CHECK_EQ(machine.engine.wqes(), 5U);
}

TEST(engine_counts_consumed_cqes_in_24_bits) {
    Machine machine;
    uint32_t index = 0;
    for (; index < 40; ++index) {
        machine.put(index, machine.wqe(index % 32));
        std::vector<uint32_t> words = machine.wqe(index % 32);
        words[0] = (index & kDepth) == 0 ? 0xB0200000U : 0x30200000U;
        machine.put(index, words);
        machine.ring(index + 1);
        if (index % kDepth == 3) machine.ring_cq(index + 1);
    }
    CHECK_EQ(machine.sink.writes.size(), 40U);
    machine.ring_cq(41);  // past what was completed
    machine.put(index, machine.wqe(index % 32));
    machine.ring(index + 1);
    CHECK_EQ(machine.sink.writes.size(), 40U);
}

TEST(engine_in_steps_runs_one_wqe_of_a_queue_at_a_time) {
    Machine machine(true);
    for (uint32_t index = 0; index < 3; ++index)
        machine.put(index, machine.wqe(index));
    machine.ring(3);
    CHECK_EQ(machine.sink.writes.size(), 0U);
    CHECK(machine.engine.has_pending());
    for (uint32_t step = 1; step <= 3; ++step) {
        machine.engine.run_one_each();
        CHECK_EQ(machine.sink.writes.size(), size_t{step});
    }
    CHECK(!machine.engine.has_pending());
    machine.engine.run_one_each();
    CHECK_EQ(machine.engine.wqes(), 3U);
}

TEST(engine_leaves_other_addresses_alone) {
    Machine machine;
    uint64_t word = 0;
    CHECK(!machine.engine.store(&word, 1, 8));
    CHECK(machine.engine.store(reinterpret_cast<void*>(machine.queue().sq_doorbell + 16), 1, 4));
    CHECK(machine.engine.store(reinterpret_cast<void*>(machine.queue().sq_doorbell), 1, 8));
    CHECK_EQ(machine.engine.doorbells(), 0U);
}

TEST(fabric_addresses_of_ranks_differ_and_follow_the_nonce) {
    const FabricAddress first = fabric_address(3, 77), second = fabric_address(4, 77), other = fabric_address(3, 78);
    CHECK(first.base != second.base);
    CHECK(first.tpn != second.tpn);
    CHECK(first.tpn < (1U << 24));
    CHECK(first.segment < (1U << 20));
    CHECK(first.token != 0);
    CHECK(first.token != other.token);
    CHECK(std::memcmp(first.eid, other.eid, sizeof(first.eid)) != 0);
}

}  // namespace
