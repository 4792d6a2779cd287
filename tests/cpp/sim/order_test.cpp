// SPDX-License-Identifier: Apache-2.0
// Order among WQEs of a queue: none, unless their order bits ask for it. A driver with rings and a wire, without
// kernels. Layer: tests.
#include <cstring>

#include "queue_machine.h"

namespace ascend_deepep::test {
namespace {

constexpr uint32_t kWqes = QueueMachine::kWqes;
constexpr uint32_t kFence = 1U << kWqeFenceBit;
constexpr uint32_t kRelaxed = 1U << kWqePlaceOrderShift;
constexpr uint32_t kStrong = 2U << kWqePlaceOrderShift;
constexpr uint64_t kSeeds = 40;

// Some byte of the last block is visible, and one of an earlier block is not.
bool has_overtaken(const QueueMachine& machine) {
    bool is_missing = false;
    for (uint32_t index = 0; index + 1 < kWqes; ++index)
        is_missing = is_missing || machine.visible_bytes(index) != kBlockDataBytes;
    return is_missing && machine.visible_bytes(kWqes - 1) != 0;
}

// In how many worlds the last WQE, with these order bits, overtakes an earlier one.
uint32_t overtaken(uint32_t order, bool is_kept = true) {
    uint32_t worlds = 0;
    for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
        QueueMachine machine(seed);
        machine.shared.assumptions.order_bits_are_kept = is_kept;
        for (uint32_t index = 0; index < kWqes; ++index)
            machine.put(index, index + 1 == kWqes ? order : 0);
        const QueueContext& queue = machine.driver.engine().context(1);
        machine.ring(kWqes);
        bool is_overtaken = false;
        while (!machine.shared.events.empty()) {
            machine.handle(machine.shared.events.take());
            is_overtaken = is_overtaken || has_overtaken(machine);
        }
        for (const sim::Finding& finding : machine.shared.findings.all())
            check::fail(__FILE__, __LINE__, "[" + finding.checker + "] " + finding.what);
        for (uint32_t index = 0; index < kWqes; ++index) {
            CHECK_EQ(machine.visible_bytes(index), kBlockDataBytes);
            uint32_t cqe;
            std::memcpy(&cqe, reinterpret_cast<const uint8_t*>(queue.cq_base) + index * kCqeBytes, sizeof(cqe));
            CHECK(cqe_is_valid(cqe, index, kWqes) && cqe_status(cqe) == 0);
        }
        worlds += is_overtaken ? 1 : 0;
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
