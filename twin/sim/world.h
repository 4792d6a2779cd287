// SPDX-License-Identifier: Apache-2.0
// A world: all ranks of a communicator in one OS thread, driven by one seed until every host is done, something was
// found, or nothing can move any more. Layer: twin/sim. It knows kernels by address and no operator.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "twin/sim/rank.h"

namespace ascend_deepep::sim {

struct WorldConfig {
    CommunicatorLimits limits{};
    uint32_t num_cores = 8;
    uint32_t queue_depth = 8;
    uint64_t tag_base = 0;
    uint64_t timeout_ns = 0;  // of the calls: deadlines are known from it
    uint64_t seed = 0;
    std::optional<Schedule> schedule;  // none: drawn from the seed
    Assumptions assumptions;
    FaultPlan fault;
    Choices* choices = nullptr;    // decides the order
    Timeline* timeline = nullptr;  // records the run
};

class World {
  public:
    explicit World(const WorldConfig& config);

    // What rank `rank` does, from the start of the world or as late as the fault says.
    void host(uint32_t rank, std::function<void(SimRank&)> body);
    void run();

    // For hosts.
    void host_sleeps(uint64_t ns) { actors_.host_sleeps(ns); }
    void note(TraceKind kind, uint64_t actor, uint64_t value) { shared_.trace.mix(kind, actor, value); }

    Findings& findings() { return shared_.findings; }
    const Shared& shared() const { return shared_; }
    const FaultPlan& fault() const { return shared_.fault; }
    uint32_t num_ranks() const { return config_.limits.num_ranks; }
    uint64_t told_at(uint32_t from, uint32_t to) const { return wire_.told_at(from, to); }
    uint64_t num_writes() const { return wire_.num_writes(); }
    const WindowArena& arena() const { return arena_; }
    bool has_died(uint32_t rank) const { return dead_ == rank; }

  private:
    void step();
    void handle(const Event& event);
    void strike();
    void look(uint32_t rank);
    void idle();
    bool has_landed(uint32_t rank) const;
    void end_all();
    void show_fault();
    void happen(const Event& event);
    void offer(const Event& event);
    bool take_late();
    bool release();

    WorldConfig config_;
    Shared shared_;
    WindowArena arena_;
    Actors actors_;
    Wire wire_;
    std::vector<std::unique_ptr<SimRank>> ranks_;
    std::vector<uint32_t> looks_;  // by rank: how often it has looked for dead peers
    uint32_t dead_ = ~0U;
    bool has_shown_fault_ = false;
};

}  // namespace ascend_deepep::sim
