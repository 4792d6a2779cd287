// SPDX-License-Identifier: Apache-2.0
// Links of limited bandwidth: blocks leave one after another, and links differ. Layer: tests.
#include <set>

#include "queue_machine.h"

namespace ascend_deepep::test {
namespace {

constexpr uint64_t kSeeds = 20;
constexpr uint64_t kBlockNs = 1'000'000;  // far longer than anything else in these worlds

// When the last of a ring of WQEs of one block each is visible.
uint64_t last_visible_ns(uint64_t seed, uint64_t block_ns) {
    QueueMachine machine(seed, block_ns);
    machine.shared.schedule.delivery_ns = machine.shared.schedule.wqe_ns = machine.shared.schedule.completion_ns = 1;
    for (uint32_t index = 0; index < QueueMachine::kWqes; ++index)
        machine.put(index);
    machine.ring(QueueMachine::kWqes);
    machine.run();
    CHECK(machine.shared.findings.empty());
    for (uint32_t index = 0; index < QueueMachine::kWqes; ++index)
        CHECK_EQ(machine.visible_bytes(index), kBlockDataBytes);
    return machine.shared.now;
}

TEST(blocks_leave_a_limited_link_one_after_another) {
    for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
        const uint64_t unlimited_ns = last_visible_ns(seed, 0);
        CHECK(unlimited_ns < 100);
        const uint64_t all_blocks_ns = QueueMachine::kWqes * sim::draw_link_ns(seed, kBlockNs, 0, 1);
        const uint64_t limited_ns = last_visible_ns(seed, kBlockNs);
        CHECK(limited_ns >= all_blocks_ns);
        CHECK(limited_ns <= all_blocks_ns + unlimited_ns);
    }
}

TEST(links_differ_and_none_is_slower_than_the_slowest) {
    std::set<uint64_t> speeds;
    for (uint32_t from = 0; from < 4; ++from) {
        for (uint32_t to = 0; to < 4; ++to) {
            speeds.insert(sim::draw_link_ns(1, kBlockNs, from, to));
            CHECK(sim::draw_link_ns(1, kBlockNs, from, to) <= kBlockNs);
            CHECK_EQ(sim::draw_link_ns(1, 0, from, to), uint64_t{0});
        }
    }
    CHECK_EQ(speeds.size(), size_t{16});
}

}  // namespace
}  // namespace ascend_deepep::test
