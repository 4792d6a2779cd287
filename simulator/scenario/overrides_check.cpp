// SPDX-License-Identifier: Apache-2.0
// Which scenarios can be run, whoever made them. Layer: simulator.
#include <algorithm>
#include <bit>
#include <stdexcept>

#include "contract/arch35/queue_tables.h"
#include "op_host/check.h"
#include "op_host/sizes.h"
#include "simulator/scenario/feature_rules.h"
#include "simulator/scenario/inputs.h"
#include "simulator/scenario/overrides.h"
#include "simulator/scenario/values.h"

namespace ascend_deepep::simulator {
namespace {

constexpr uint64_t kMaxWorldBytes = uint64_t{1} << 30;  // of all windows; each byte has a shadow besides
constexpr uint32_t kMaxSimRanks = 32;
constexpr uint64_t kMaxCoresOfAll = 1024;  // of all ranks: fibers of one thread
constexpr uint32_t kMaxOperations = 32;
constexpr uint64_t kMinTimeoutNs = 100'000'000;  // the slowest worlds need some tens of milliseconds
constexpr uint64_t kMaxTimeoutNs = 10'000'000'000;
constexpr uint64_t kMaxWayNs = 1'000'000;

void check_shape(const Scenario& s) {
    const CommunicatorLimits& limits = s.world.limits;
    const op_host::Status status = op_host::check_limits(limits, s.world.num_cores, 0);
    if (!status.ok()) throw std::invalid_argument(status.message);
    const uint64_t bytes = op_host::required_window_bytes(limits) * limits.num_ranks;
    if (bytes > kMaxWorldBytes) {
        throw std::invalid_argument("the windows of " + std::to_string(limits.num_ranks) + " ranks come to " +
                                    std::to_string(bytes) + " bytes, a world has at most " +
                                    std::to_string(kMaxWorldBytes) +
                                    ": lower ranks, max_tokens, max_hidden or max_topk");
    }
    check_within("ranks x cores", uint64_t{limits.num_ranks} * s.world.num_cores, 1, kMaxCoresOfAll);
    check_within("hidden", s.hidden, kMinHidden, limits.hidden, "the communicator's max_hidden");
    if (s.hidden % kHiddenMultiple != 0) {
        throw std::invalid_argument("hidden " + std::to_string(s.hidden) + " is not a multiple of " +
                                    std::to_string(kHiddenMultiple));
    }
    check_within("topk", s.num_topk, 1, limits.num_topk, "the communicator's max_topk");
    if (!is_queue_depth(s.world.queue_depth)) {
        throw std::invalid_argument("depth " + std::to_string(s.world.queue_depth) + " is no power of two from " +
                                    std::to_string(kMinQueueDepth) + " to " + std::to_string(kMaxQueueDepth));
    }
    if (!is_queue_depth(s.world.cq_depth)) {
        throw std::invalid_argument("cq_depth " + std::to_string(s.world.cq_depth) + " is no power of two from " +
                                    std::to_string(kMinQueueDepth) + " to " + std::to_string(kMaxQueueDepth));
    }
    const op_host::Status queues = op_host::check_queues_per_peer(s.world.queues_per_peer);
    if (!queues.ok()) throw std::invalid_argument(queues.message);
    check_within("tag_base's upper half", s.world.tag_base >> 32, 1, 0xFFFF);
    check_within("timeout_ns", s.world.timeout_ns, kMinTimeoutNs, kMaxTimeoutNs);
}

void check_operations(const Scenario& s) {
    check_within("number of operations", s.operations.size(), 1, kMaxOperations);
    for (const Operation& operation : s.operations)
        check_within("rank that acts", operation.actor, 0, s.world.limits.num_ranks - 1, "the ranks of the world");
}

bool is_delay(sim::SimFault kind) {
    return kind == sim::SimFault::kCoreStalls || kind == sim::SimFault::kLateWrite ||
           kind == sim::SimFault::kLateProcess;
}

// Within the time-out or beyond it: what a delay near it brings is a matter of luck.
void check_delay(const sim::FaultPlan& fault, uint64_t timeout_ns) {
    if (fault.kind == sim::SimFault::kLinkSlow) check_within("fault_ns", fault.ns, 0, kMaxWayNs);
    if (!is_delay(fault.kind) || fault.ns <= timeout_ns * 3 / 16) return;
    check_within(
        "fault_ns", fault.ns, 2 * timeout_ns, 4 * timeout_ns,
        "the delays beyond the time-out; shorter ones are at most 3/16 of it, " + std::to_string(timeout_ns * 3 / 16));
}

void check_fault(const Scenario& s) {
    const sim::FaultPlan& fault = s.world.fault;
    const uint32_t num_ranks = s.world.limits.num_ranks;
    if (fault.kind == sim::SimFault::kNone) return;
    const std::string name(sim::sim_fault_name(fault.kind));
    if (num_ranks == 1 && fault.kind != sim::SimFault::kRankDies && fault.kind != sim::SimFault::kCoreStalls) {
        throw std::invalid_argument("fault " + name + " needs a peer: at least 2 ranks");
    }
    check_within("fault_rank", fault.rank, 0, num_ranks - 1, "the ranks of the world");
    check_within("fault_peer", fault.peer, 0, num_ranks - 1, "the ranks of the world");
    if (num_ranks > 1 && fault.peer == fault.rank) {
        throw std::invalid_argument("fault_peer " + std::to_string(fault.peer) + " is fault_rank: it must be another");
    }
    check_within("fault_permille", fault.at_permille, 0, 1000);
    check_within("fault_core", fault.core, 0, s.world.num_cores - 1, "the cores of a rank");
    check_delay(fault, s.world.timeout_ns);
}

void check_schedule(const sim::Schedule& schedule) {
    check_within("run_bits", schedule.run_bits, 0, 16);
    check_within("slow_shift", schedule.slow_shift, 0, 10);
    check_within("pipe_shift", schedule.pipe_shift, 0, 10);
    check_within("piece_units", schedule.piece_units, 1, 15);
    check_within("delivery_ns", schedule.delivery_ns, 1, kMaxWayNs);
    check_within("wqe_ns", schedule.wqe_ns, 1, kMaxWayNs);
    check_within("completion_ns", schedule.completion_ns, 1, kMaxWayNs);
    check_within("host_ns", schedule.host_ns, 1, kMaxWayNs);
    check_within("store_slots", schedule.store_slots, 0, 64);
    check_within("store_ns", schedule.store_ns, 1, 4000);  // one after the other, 64 of them, well within a time-out
}

}  // namespace

void check_ranks(const Scenario& scenario) {
    check_within("ranks", scenario.world.limits.num_ranks, 1, kMaxSimRanks, "the ranks that a world may have");
}

void check_scenario(const Scenario& scenario) {
    check_ranks(scenario);
    check_shape(scenario);
    check_features(scenario);
    check_operations(scenario);
    check_fault(scenario);
    check_schedule(scenario.world.schedule.value());
    check_within("block_ns", scenario.world.schedule->block_ns, 0, most_block_ns(scenario),
                 "with which the rows of a call are far from the time-out");
}

}  // namespace ascend_deepep::simulator
