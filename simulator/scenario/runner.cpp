// SPDX-License-Identifier: Apache-2.0
// The hosts of a world. Layer: simulator.
#include "simulator/scenario/runner.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "simulator/scenario/checks/copies.h"
#include "simulator/scenario/checks/error_record.h"
#include "simulator/scenario/checks/outcome.h"
#include "simulator/scenario/checks/results.h"
#include "simulator/scenario/checks/survivors.h"
#include "simulator/scenario/checks/told.h"
#include "simulator/scenario/draw_timed.h"
#include "simulator/scenario/survivors.h"
#include "simulator/timeline/trace_file.h"

namespace ascend_deepep::simulator {
namespace {

// What of the calls stays in the result.
enum class Keeps : uint32_t { kNothing, kOutputs, kCalls };

// What the hosts of a world share.
struct Play {
    const Scenario& scenario;
    const std::vector<Operation> operations;
    sim::World& world;
    const twin::KernelTable& kernels;
    Meeting meeting;
    std::vector<std::unique_ptr<Inputs>> inputs;  // by communicator
    Keeps keeps;
    SeedResult* result;
};

// A process's rank of one communicator.
class Seat {
  public:
    Seat(sim::World& world, Inputs& inputs, uint32_t process, const twin::KernelTable& kernels)
        : inputs_(inputs),
          machine_(rank_of(world, inputs.channel().number, process)),
          calls_(inputs.channel(), machine_, kernels),
          player_(inputs, machine_.rank(), calls_) {}

    const Channel& channel() const { return inputs_.channel(); }
    Inputs& inputs() { return inputs_; }
    uint32_t rank() const { return machine_.rank(); }
    uint64_t sequence() { return machine_.page().state.sequence; }
    Calls& calls() { return calls_; }
    Played perform(const Operation& operation) { return player_.perform(operation); }

  private:
    static sim::SimRank& rank_of(sim::World& world, uint32_t number, uint32_t process) {
        sim::Communicator& communicator = world.communicator(number);
        return communicator.rank(communicator.rank_of(process));
    }

    Inputs& inputs_;
    sim::SimRank& machine_;
    Calls calls_;
    Player<Calls> player_;
};

class Host {
  public:
    Host(Play& play, uint32_t process)
        : play_(play), world_(play.world), process_(process), random_(play.scenario.world.seed + process * 7919) {}

    void run() {
        const bool has_failed = !all_calls();
        if (!play_.scenario.has_survivors) return;
        Inputs* inputs = play_.meeting.meet(process_, has_failed);
        if (inputs != nullptr) go_on(*inputs);
    }

  private:
    void report(const char* checker, std::string what) { world_.findings().report(checker, std::move(what)); }
    void enter_late() {
        const sim::Handicap& handicap = world_.shared().handicap;
        if (handicap.is_of(sim::Handicap::Kind::kEntry, process_)) world_.host_sleeps(handicap.ns);
    }
    void pause() { world_.host_sleeps(random_.below(world_.shared().schedule.host_ns)); }

    // False: one has failed, and this host makes no further calls of the scenario.
    bool all_calls() {
        std::vector<std::unique_ptr<Seat>> seats;
        for (const auto& inputs : play_.inputs)
            seats.push_back(std::make_unique<Seat>(world_, *inputs, process_, play_.kernels));
        for (uint32_t i = 0; i < play_.operations.size(); ++i) {
            if (!call(*seats[play_.operations[i].communicator], i)) return false;
        }
        return true;
    }

    bool call(Seat& seat, uint32_t number) {
        pause();
        const Operation& operation = play_.operations[number];
        if (operation.kind == OperationKind::kDispatch) enter_late();
        const Channel& channel = seat.channel();
        const uint32_t rank = seat.rank();
        const uint64_t sequence = seat.sequence();
        const uint64_t start_ns = world_.shared().now;
        const std::vector<uint64_t> sent = copies_sent(channel, world_, rank);
        Played played = seat.perform(operation);
        const OperationOutcome outcome = played.outcome;
        world_.note(sim::TraceKind::kOperation, process_, static_cast<uint32_t>(outcome.code));
        check_results(seat, operation, played, world_.shared().now - start_ns);
        if (played.has_dispatched && outcome.code == Code::kOk)
            report("results", copies_fault(channel, world_, seat.inputs().round(operation.round)[rank], sent));
        if (play_.keeps == Keeps::kCalls) keep_call(number, rank, start_ns, played);
        if (play_.keeps == Keeps::kOutputs) play_.result->outputs.push_back({number, rank, std::move(played)});
        report("outcome", outcome_fault(channel, world_, rank, operation, outcome));
        report("outcome", sequence_fault(channel, world_, rank, sequence, outcome));
        if (!is_failure(outcome.code)) return true;
        ++play_.result->failures;
        const uint64_t elapsed_ns = world_.shared().now - start_ns;
        report("error record", record_fault(channel, world_, rank, sequence, elapsed_ns, outcome));
        report("aborts", untold_fault(channel, world_, rank));
        report("aborts", unheard_fault(channel, world_, rank, start_ns));
        if (random_.one_in(2)) {
            const DispatchResult again = seat.calls().dispatch(seat.inputs().round(0)[rank]);
            report("outcome", broken_fault(rank, outcome.code, again.outcome));
        }
        return false;
    }

    void keep_call(uint32_t number, uint32_t rank, uint64_t start_ns, const Played& played) {
        const std::vector<int64_t>& waits_us =
            played.has_dispatched ? played.dispatched.performance_info : played.combined.performance_info;
        play_.result->calls.push_back(
            {number, rank, start_ns, world_.shared().now, waits_us, played.dispatched.ep_recv_counts});
    }

    void check_results(Seat& seat, const Operation& operation, const Played& played, uint64_t elapsed_ns) {
        const std::vector<Batch>& batches = seat.inputs().round(operation.round);
        const Batch& own = batches[seat.rank()];
        const bool is_good = played.outcome.code == Code::kOk;
        if (played.has_dispatched) {
            report("results", is_good ? dispatch_fault(seat.channel(), seat.rank(), batches, played.dispatched)
                                      : leftover_fault(seat.rank(), played.dispatched));
        } else if (played.has_combined && is_good) {
            report("results", combine_fault(seat.rank(), own, played.combined));
        }
        report("results", performance_fault(own, played.dispatched.performance_info, elapsed_ns));
        report("results", performance_fault(own, played.combined.performance_info, elapsed_ns));
    }

    // With the survivors: one dispatch and its combine.
    void go_on(Inputs& inputs) {
        Seat seat(world_, inputs, process_, play_.kernels);
        for (OperationKind kind : {OperationKind::kDispatch, OperationKind::kCombine}) {
            pause();
            const uint64_t sequence = seat.sequence();
            const Operation operation{kind, Act::kGood, 0, 1, inputs.channel().number};
            const uint64_t start_ns = world_.shared().now;
            const Played played = seat.perform(operation);
            world_.note(sim::TraceKind::kOperation, process_, static_cast<uint32_t>(played.outcome.code));
            check_results(seat, operation, played, world_.shared().now - start_ns);
            report("survivors", survivors_fault(seat.rank(), sequence, played.outcome));
        }
    }

    Play& play_;
    sim::World& world_;
    uint32_t process_;
    sim::Random random_;
};

SeedResult play(Scenario scenario, const std::string& timeline_path, Keeps keeps, const twin::KernelTable& kernels) {
    SeedResult result;
    sim::Timeline timeline;
    if (!timeline_path.empty()) scenario.world.timeline = &timeline;
    sim::World world(scenario.world);
    Play play{scenario, all_operations(scenario), world, kernels, Meeting(scenario, world), {}, keeps, &result};
    play.inputs.push_back(std::make_unique<Inputs>(channel_of(scenario, 0)));
    if (scenario.second) {
        std::vector<uint32_t> members(world.num_processes());
        for (uint32_t process = 0; process < world.num_processes(); ++process)
            members[process] = process;
        world.add_communicator(scenario.second->config, std::move(members));
        play.inputs.push_back(std::make_unique<Inputs>(channel_of(scenario, 1)));
    }
    for (uint32_t process = 0; process < world.num_processes(); ++process)
        world.host(process, [&play, process](sim::SimRank&) { Host(play, process).run(); });
    world.run();
    if (!timeline_path.empty()) write_trace_file(timeline_path, timeline, world);
    result.findings = world.findings().all();
    result.hash = world.shared().trace.value();
    result.steps = world.shared().steps;
    result.events = world.shared().trace.events();
    result.writes = world.num_writes();
    result.virtual_ns = world.shared().now;
    result.fault = world.fault().kind;
    result.has_struck = world.fault().has_struck;
    result.num_ranks = world.num_processes();
    result.num_survivors = play.meeting.num_survivors();
    return result;
}

// A death at a part of the run: the run without it says how long that is. Up to the death both are the same.
void place_death(const twin::KernelTable& kernels, Scenario* scenario) {
    sim::FaultPlan& fault = scenario->world.fault;
    if (fault.kind != sim::SimFault::kRankDies || fault.at_permille == 0) return;
    Scenario calm = *scenario;
    calm.world.fault = sim::FaultPlan{};
    fault.at = 1 + play(calm, "", Keeps::kNothing, kernels).steps * fault.at_permille / 1000;
}

}  // namespace

Scenario make_scenario(uint64_t seed, const SeedOptions& options) {
    Scenario scenario = draw_scenario(seed, options.with_faults, options.forced);
    if (options.schedule_seed.has_value()) draw_schedule(*options.schedule_seed, &scenario);
    const Scenario drawn = scenario;
    apply_settings(options.settings, &scenario);
    check_ranks(scenario);  // the rest is fitted to them
    fit_scenario(options.settings, drawn, &scenario);
    fit_communicators(&scenario);
    scenario.world.assumptions = options.assumptions;
    check_scenario(scenario);
    settle_acts(&scenario);
    scenario.world.num_items = num_items(scenario);
    return scenario;
}

SeedResult run_scenario(const Scenario& scenario, const std::string& timeline_path, const twin::KernelTable& kernels) {
    return play(scenario, timeline_path, Keeps::kNothing, kernels);
}

SeedResult record_scenario(const Scenario& scenario, const twin::KernelTable& kernels) {
    return play(scenario, "", Keeps::kCalls, kernels);
}

SeedResult run_seed(uint64_t seed, const SeedOptions& options, const twin::KernelTable& kernels) {
    Scenario scenario = make_scenario(seed, options);
    place_death(kernels, &scenario);
    SeedResult result =
        play(scenario, options.timeline_path, options.keeps_outputs ? Keeps::kOutputs : Keeps::kNothing, kernels);
    result.has_remote_row = has_remote_row(scenario);
    result.conditions = conditions_of(scenario);
    result.features = features_of(scenario);
    result.timed = timed_kind(scenario.world.limits, scenario);
    return result;
}

}  // namespace ascend_deepep::simulator
