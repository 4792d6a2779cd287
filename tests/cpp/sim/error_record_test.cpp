// SPDX-License-Identifier: Apache-2.0
// Checker "error record" by itself: whom it takes for the root, and how long it lets a wait take. Layer: tests.
#include "simulator/scenario/checks/error_record.h"
#include "check.h"

namespace ascend_deepep::test {
namespace {

using namespace simulator;

constexpr uint64_t kTimeoutNs = 1000;
constexpr uint32_t kRank = 3;  // whose record is looked at

// Four ranks in operation 0, which has failed.
struct Failed {
    sim::World world;
    Channel channel;

    explicit Failed(const sim::FaultPlan& fault) : world(config(fault)) {
        channel.config = config(fault);
        channel.timeout_ns = kTimeoutNs;
        for (uint32_t rank = 0; rank < 4; ++rank) {
            OperationState& state = world.communicator(0).arena().page(rank).state;
            state.sequence = 1;  // nobody is behind
        }
    }
    static sim::WorldConfig config(const sim::FaultPlan& fault) {
        sim::WorldConfig made;
        made.limits = {4, 4, 64, 2, 4, 0};
        made.num_cores = 4;
        made.timeout_ns = kTimeoutNs;
        made.fault = fault;
        return made;
    }
    // What the checker says of a record with this root.
    std::string of(uint32_t root, uint64_t wait_ns = kTimeoutNs, uint64_t call_ns = kTimeoutNs) {
        ErrorRecord& record = world.communicator(0).arena().page(kRank).record;
        record = ErrorRecord{};
        record.code = Code::kTimeout;
        record.rank = kRank;
        record.root = root;
        record.stage = Stage::kCollect;
        record.elapsed_cycles = wait_ns;
        OperationOutcome outcome{};
        outcome.code = Code::kTimeout;
        return record_fault(channel, world, kRank, 0, call_ns, outcome);
    }
};

sim::FaultPlan fault_of(sim::SimFault kind) {
    sim::FaultPlan fault;
    fault.kind = kind;
    fault.rank = 0;
    fault.peer = 1;
    fault.struck_peer = 1;
    fault.has_struck = true;
    fault.ns = 3 * kTimeoutNs;
    return fault;
}

TEST(the_root_is_at_an_end_of_what_was_struck) {
    for (sim::SimFault kind :
         {sim::SimFault::kBadCqe, sim::SimFault::kWqeLost, sim::SimFault::kLateWrite, sim::SimFault::kLinkCut}) {
        Failed failed(fault_of(kind));
        CHECK_EQ(failed.of(0), std::string());
        CHECK_EQ(failed.of(1), std::string());
        CHECK(failed.of(2).find("root 2") != std::string::npos);
        CHECK(failed.of(4).find("root 4") != std::string::npos);
        failed.world.communicator(0).arena().page(2).state.sequence = 0;  // has not entered the operation
        CHECK_EQ(failed.of(2), std::string());
    }
}

TEST(after_a_death_the_root_is_the_dead_rank) {
    Failed failed(fault_of(sim::SimFault::kRankDies));
    CHECK_EQ(failed.of(0), std::string());
    CHECK(!failed.of(1).empty());
}

TEST(a_wait_takes_its_time_out_and_a_quarter_of_it) {
    constexpr uint64_t kMost = kTimeoutNs + kTimeoutNs / 4;
    for (sim::SimFault kind : {sim::SimFault::kRankDies, sim::SimFault::kBadCqe, sim::SimFault::kWqeLost,
                               sim::SimFault::kLinkCut, sim::SimFault::kLateProcess}) {
        Failed failed(fault_of(kind));
        CHECK_EQ(failed.of(0, kMost, kMost), std::string());
        CHECK(failed.of(0, kMost + 1, kMost + 1).find("beyond its deadline") != std::string::npos);
        CHECK(!failed.of(0, kMost, kMost + 1).empty());
    }
    Failed late(fault_of(sim::SimFault::kLateWrite));
    CHECK_EQ(late.of(0, kMost, kMost + 3 * kTimeoutNs), std::string());
    CHECK(!late.of(0, kMost, kMost + 3 * kTimeoutNs + 1).empty());
    CHECK(!late.of(0, kMost + 1, kMost + 1).empty());
    Failed stalled(fault_of(sim::SimFault::kCoreStalls));
    CHECK_EQ(stalled.of(0, kMost + 3 * kTimeoutNs, kMost + 3 * kTimeoutNs), std::string());
    CHECK(!stalled.of(0, kMost + 3 * kTimeoutNs + 1, kMost).empty());
}

}  // namespace
}  // namespace ascend_deepep::test
