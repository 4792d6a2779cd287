// SPDX-License-Identifier: Apache-2.0
// Parts of the simulator by themselves: chance, order of events, watched lines, and what each checker says of a write.
// Layer: tests.
#include "check.h"
#include "simulator/scenario/scenario.h"
#include "twin/sim/checks/queues.h"
#include "twin/sim/checks/reuse.h"
#include "twin/sim/checks/unwritten.h"

namespace ascend_deepep::test {
namespace {

using namespace simulator;

using sim::RemoteWrite;

// The published sequence of xoshiro256** seeded by splitmix64(0): no compiler or library may change a seed's meaning.
TEST(the_generator_is_the_published_one) {
    sim::Random random(0);
    CHECK_EQ(random.next(), 0x99EC5F36CB75F2B4ULL);
    CHECK_EQ(random.next(), 0xBF6E1F784956452AULL);
    CHECK_EQ(random.next(), 0x1A5F849D4933E6E0ULL);
    for (uint32_t i = 0; i < 1000; ++i) {
        CHECK(random.below(3) < 3);
        const uint32_t value = random.between(5, 7);
        CHECK(value >= 5 && value <= 7);
    }
}

TEST(events_come_by_time_then_by_order) {
    sim::EventQueue events;
    events.add(20, sim::EventKind::kWake, 0, 1);
    events.add(10, sim::EventKind::kWake, 0, 2);
    events.add(20, sim::EventKind::kWake, 0, 3);
    events.add(10, sim::EventKind::kWake, 0, 4);
    for (uint32_t want : {2U, 4U, 1U, 3U})
        CHECK_EQ(events.take().a, want);
    CHECK(events.empty());
}

TEST(watched_lines_are_never_missed) {
    for (uint64_t offset = 0; offset < 1 << 20; offset += 8) {
        sim::LineSet watched, written;
        watched.add(offset, 8);
        written.add(offset / 64 * 64, 64);
        CHECK(watched.meets(written));
    }
    sim::LineSet none, some;
    some.add(0, 4096);
    CHECK(!none.meets(some));
}

struct TwoRanks {
    CommunicatorLimits limits{2, 4, 64, 2, 4, 0};
    sim::Random random{1};
    sim::WindowArena arena{2, window_layout(limits), 0x77, random};

    uint64_t at(WindowRegion region, uint64_t offset = 0) const {
        return arena.layout().regions[static_cast<uint32_t>(region)].offset + offset;
    }
};

TEST(blocks_are_whole_and_in_the_senders_part) {
    const TwoRanks world;
    const uint64_t half = world.at(WindowRegion::kDispatchHalf0);
    const uint64_t part = world.arena.layout().regions[4].bytes / 2;
    const auto fault = [&](uint64_t offset, uint64_t bytes) { return block_fault(world.arena, {1, 0, offset, bytes}); };
    CHECK(fault(half + part, 512).empty());
    CHECK(fault(half + part + 32, 512).find("whole blocks") != std::string::npos);
    CHECK(fault(half + part, 480).find("whole blocks") != std::string::npos);
    CHECK(fault(half + part, 0).find("whole blocks") != std::string::npos);
    CHECK(fault(half, 512).find("another source") != std::string::npos);
    CHECK(fault(half + part - 512, 1024).find("another source") != std::string::npos);
    CHECK(fault(world.at(WindowRegion::kControlPage), 512).find("one region") != std::string::npos);
    CHECK(fault(world.at(WindowRegion::kSendBuffer), 512).find("one region") != std::string::npos);
    CHECK(fault(world.at(WindowRegion::kCombineHalf1), 512).empty());
}

TEST(a_half_is_written_after_its_reader_has_finished) {
    TwoRanks world;
    const RemoteWrite write{1, 0, world.at(WindowRegion::kDispatchHalf0, world.arena.layout().regions[4].bytes / 2),
                            512};
    OperationState& sender = world.arena.page(1).state;
    OperationState& reader = world.arena.page(0).state;
    CHECK(reuse_fault(world.arena, write).empty());
    sender.uses[0] = 1;
    CHECK(reuse_fault(world.arena, write).find("half 0") != std::string::npos);
    sender.uses[0] = 2;
    CHECK(reuse_fault(world.arena, write).find("finished 0 uses") != std::string::npos);
    reader.uses[0] = 1;
    CHECK(reuse_fault(world.arena, write).empty());
    reader.uses[0] = 0;
    reader.is_broken = 1;
    CHECK(reuse_fault(world.arena, write).empty());
}

TEST(a_control_slot_is_written_after_its_reader_has_finished) {
    TwoRanks world;
    const uint64_t slot = uint64_t{world.arena.layout().control_blocks} * kBlockBytes;
    const auto write = [&](uint64_t number) {
        return RemoteWrite{1, 0, world.at(WindowRegion::kControlRing, (kControlSlots + number) * slot), 512};
    };
    CHECK(reuse_fault(world.arena, write(0)).empty());
    CHECK(reuse_fault(world.arena, write(1)).find("in slot 1") != std::string::npos);
    world.arena.page(1).state.sequence = 4;
    CHECK(reuse_fault(world.arena, write(0)).find("finished 0 operations") != std::string::npos);
    world.arena.page(0).state.sequence = 3;
    CHECK(reuse_fault(world.arena, write(0)).empty());
}

TEST(only_flag_areas_may_be_read_before_they_are_written) {
    TwoRanks world;
    sim::Shadow& shadow = world.arena.shadow(0);
    const uint64_t half = world.at(WindowRegion::kDispatchHalf1);
    const auto fault = [&](uint64_t offset, uint64_t bytes) {
        return sim::unwritten_fault(shadow, 0, "window", offset, bytes);
    };
    CHECK(fault(half + kBlockDataBytes, kFlagBytes).empty());
    CHECK(fault(half, 8).find("byte " + std::to_string(half)) != std::string::npos);
    shadow.mark(half, 32);
    CHECK(fault(half, 32).empty());
    CHECK(!fault(half, 33).empty());
    CHECK(fault(world.at(WindowRegion::kControlPage), 4096).empty());
    CHECK(fault(world.at(WindowRegion::kAbort), 1024).empty());
}

TEST(planted_completions_are_no_queue_fault) {
    CHECK(sim::queue_fault(0, 1, 7, twin::WqeFault::kInjected).empty());
    CHECK(sim::queue_fault(0, 1, 7, twin::WqeFault::kNone).empty());
    CHECK(sim::queue_fault(0, 1, 7, twin::WqeFault::kOwner).find("WQE 7 of rank 0 to rank 1") != std::string::npos);
}

TEST(scenarios_cover_what_they_should) {
    uint32_t urma = 0, two_blocks = 0, refused = 0, largest = 0, many_cores = 0, ring_of_four = 0;
    uint32_t by_queues[kMaxQueuesPerPeer + 1] = {};
    for (uint64_t seed = 1; seed <= 400; ++seed) {
        const Scenario s = draw_scenario(seed, true);
        urma += s.engine == CombineEngine::kUrma ? 1 : 0;
        two_blocks += control_blocks(local_experts(s.world.limits)) > 1 ? 1 : 0;
        largest += s.world.limits.num_ranks == 8 ? 1 : 0;
        many_cores += s.world.num_cores == kMaxCores ? 1 : 0;
        ++by_queues[s.world.queues_per_peer];
        ring_of_four += s.world.queue_depth == kMinQueueDepth ? 1 : 0;
        for (const Operation& operation : s.operations)
            refused += operation.act != Act::kGood ? 1 : 0;
    }
    for (uint32_t count : {urma, two_blocks, refused, largest, ring_of_four})
        CHECK(count >= 20);
    CHECK(many_cores >= 5);
    for (uint32_t queues = 1; queues <= kMaxQueuesPerPeer; ++queues)
        CHECK(by_queues[queues] >= 20);
}

}  // namespace
}  // namespace ascend_deepep::test
