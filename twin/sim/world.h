// SPDX-License-Identifier: Apache-2.0
// A world: the processes of one or more communicators in one OS thread, driven by one seed until every host is done,
// something was found, or nothing can move any more. Layer: twin/sim. It knows kernels by address and no operator.
// A process has one host and one set of cores, which runs one launch at a time, and a rank in each communicator that
// it is a member of.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "twin/sim/communicator.h"

namespace ascend_deepep::sim {

// The base: of the first communicator, whose ranks are all processes.
struct WorldConfig : CommunicatorConfig {
    uint32_t num_cores = 8;
    uint64_t timeout_ns = 0;  // of the calls: deadlines are known from it
    uint64_t seed = 0;
    std::optional<Schedule> schedule;  // none: drawn from the seed
    uint64_t num_items = 0;  // rows and messages that the calls of all ranks move: see checks/liveness.h; 0: not known
    Assumptions assumptions;
    FaultPlan fault;
    Choices* choices = nullptr;    // decides the order
    Timeline* timeline = nullptr;  // records the run
    Meter* meter = nullptr;        // counts what cores do
    const Costs* costs = nullptr;  // cores run beside each other, and nothing is left to chance
    Handicap handicap;             // with costs
};

class World {
  public:
    explicit World(const WorldConfig& config);

    // Before or during the run. `members`: processes of its ranks, in their order. Its number.
    uint32_t add_communicator(const CommunicatorConfig& config, std::vector<uint32_t> members);

    // What process `process` does, from the start of the world or as late as the fault says. `body` gets its rank of
    // the first communicator.
    void host(uint32_t process, std::function<void(SimRank&)> body);
    void run();

    // For hosts.
    void host_sleeps(uint64_t ns) { actors_.host_sleeps(ns); }
    void note(TraceKind kind, uint64_t actor, uint64_t value) { shared_.trace.mix(kind, actor, value); }
    // What the fault broke works again.
    void heal() { shared_.fault.is_over = true; }

    Findings& findings() { return shared_.findings; }
    const Shared& shared() const { return shared_; }
    const FaultPlan& fault() const { return shared_.fault; }
    uint32_t num_processes() const { return config_.limits.num_ranks; }
    uint32_t num_communicators() const { return static_cast<uint32_t>(communicators_.size()); }
    Communicator& communicator(uint32_t number) { return *communicators_[number]; }
    const Communicator& communicator(uint32_t number) const { return *communicators_[number]; }
    uint64_t num_writes() const;
    const WindowArena& arena() const { return communicators_[0]->arena(); }
    bool has_died(uint32_t process) const { return dead_ == process; }

  private:
    void step();
    void handle(const Event& event);
    void strike();
    void look(uint32_t process);
    void idle();
    void check_progress();
    std::string stuck() const;  // where all cores stand
    bool has_landed(uint32_t process) const;
    void end_all();
    void show_fault();
    void happen(const Event& event);
    void offer(const Event& event);
    bool take_late();
    bool release();

    WorldConfig config_;
    Shared shared_;
    Actors actors_;
    std::vector<std::unique_ptr<Communicator>> communicators_;
    std::vector<SimRank*> seats_;
    std::vector<uint32_t> looks_;  // by process: how often it has looked for dead peers
    uint64_t quiet_since_ = 0;     // step of the last fault
    bool has_struck_ = false;
    bool has_shown_fault_ = false;
    uint32_t dead_ = ~0U;
};

}  // namespace ascend_deepep::sim
