// SPDX-License-Identifier: Apache-2.0
// The hosts of a world. Layer: simulator.
#include "simulator/scenario/runner.h"

#include <algorithm>
#include <map>
#include <memory>

#include "simulator/scenario/calls.h"
#include "simulator/scenario/oracle.h"
#include "simulator/scenario/outcome.h"
#include "simulator/timeline/trace_file.h"

namespace ascend_deepep::simulator {
namespace {

// Batches by round and rank, made once for all ranks.
class Inputs {
  public:
    explicit Inputs(const Scenario& scenario) : scenario_(scenario) {}
    const std::vector<Batch>& round(uint32_t number) {
        while (rounds_.size() <= number) {
            auto batches = std::make_unique<std::vector<Batch>>();
            for (uint32_t rank = 0; rank < scenario_.world.limits.num_ranks; ++rank)
                batches->push_back(make_batch(scenario_, rank, static_cast<uint32_t>(rounds_.size())));
            rounds_.push_back(std::move(batches));
        }
        return *rounds_[number];
    }

  private:
    const Scenario& scenario_;
    std::vector<std::unique_ptr<std::vector<Batch>>> rounds_;
};

// What the experts of a rank make of the rows it received.
std::vector<uint16_t> expert_output(const Scenario& scenario, uint32_t rank, const DispatchResult& got) {
    const CommunicatorLimits& limits = scenario.world.limits;
    std::vector<uint16_t> result(got.expand_x.size(), 0xFFFF);
    uint32_t row = 0;
    for (uint32_t block = 0; block < got.ep_recv_counts.size(); ++block) {
        const int expert = static_cast<int>(rank * local_experts(limits) + block / limits.num_ranks);
        for (; row < static_cast<uint32_t>(got.ep_recv_counts[block]); ++row) {
            for (size_t at = size_t{row} * scenario.hidden; at < size_t{row + 1} * scenario.hidden; ++at)
                result[at] = expert_step(got.expand_x[at], expert);
        }
    }
    return result;
}

class Host {
  public:
    Host(const Scenario& scenario, sim::World& world, Inputs& inputs, sim::SimRank& rank,
         const twin::KernelTable& kernels, SeedResult* result)
        : scenario_(scenario),
          world_(world),
          inputs_(inputs),
          rank_(rank),
          calls_(scenario, rank, kernels),
          random_(scenario.world.seed + rank.rank() * 7919),
          result_(result) {}

    void run() {
        for (const Operation& operation : scenario_.operations) {
            world_.host_sleeps(random_.below(world_.shared().schedule.host_ns));
            const uint64_t sequence = rank_.page().state.sequence;
            const uint64_t start_ns = world_.shared().now;
            const OperationOutcome outcome = perform(operation);
            world_.note(sim::TraceKind::kOperation, rank_.rank(), static_cast<uint32_t>(outcome.code));
            report("outcome", outcome_fault(scenario_, world_, rank_.rank(), operation, outcome));
            if (outcome.sequence != sequence || rank_.page().state.sequence != sequence + 1) {
                report("outcome", "rank " + std::to_string(rank_.rank()) + ": operation " + std::to_string(sequence) +
                                      " did not advance the sequence number by one");
            }
            if (outcome.code == Code::kOk || is_refusal(outcome.code)) continue;
            ++result_->failures;
            report("error record", record_fault(world_, rank_.rank(), sequence, outcome, rank_.page().record));
            report("aborts", untold_fault(world_, rank_.rank()));
            report("aborts", unheard_fault(world_, rank_.rank(), start_ns));
            if (random_.one_in(2)) call_broken(outcome.code);
            return;
        }
    }

  private:
    void report(const char* checker, std::string what) { world_.findings().report(checker, std::move(what)); }

    // A broken communicator says so again.
    void call_broken(Code code) {
        const DispatchResult again = calls_.dispatch(inputs_.round(0)[rank_.rank()]);
        if (again.outcome.code == code) return;
        report("outcome", "rank " + std::to_string(rank_.rank()) +
                              ": a broken communicator ended an operation with code " +
                              std::to_string(static_cast<uint32_t>(again.outcome.code)) + ", not " +
                              std::to_string(static_cast<uint32_t>(code)));
    }

    bool is_actor(const Operation& operation) const { return operation.actor == rank_.rank(); }

    OperationOutcome perform(const Operation& operation) {
        if (operation.act == Act::kHostRefuses && is_actor(operation)) {
            return calls_.refuse(operation.kind, Refusal{Code::kBadShape, Field::kX, 0, 0, 3, 2, rank_.rank(), 0});
        }
        const bool dispatches =
            operation.kind == OperationKind::kDispatch || (operation.act == Act::kOtherCall && is_actor(operation));
        return dispatches ? dispatch(operation) : combine(operation);
    }

    OperationOutcome dispatch(const Operation& operation) {
        const std::vector<Batch>& batches = inputs_.round(operation.round);
        Batch batch = batches[rank_.rank()];
        if (operation.act == Act::kBadIds && is_actor(operation)) {
            batch.expert_ids.back() = static_cast<int32_t>(scenario_.world.limits.num_experts);
        }
        DispatchResult got = calls_.dispatch(batch);
        if (got.outcome.code != Code::kOk) {
            report("results", leftover_fault(rank_.rank(), got));
            return got.outcome;
        }
        report("results", dispatch_fault(scenario_, rank_.rank(), batches, got));
        const OperationOutcome outcome = got.outcome;
        held_[operation.round] = std::move(got);
        return outcome;
    }

    OperationOutcome combine(const Operation& operation) {
        const Batch& good = inputs_.round(operation.round)[rank_.rank()];
        Batch batch = good;
        const DispatchResult& held = held_[operation.round];
        DispatchResult dispatched = held;
        if (is_actor(operation)) spoil(operation, &batch, &dispatched);
        const CombineResult got = calls_.combine(batch, dispatched, expert_output(scenario_, rank_.rank(), held));
        if (got.outcome.code == Code::kOk) report("results", combine_fault(rank_.rank(), good, got));
        return got.outcome;
    }

    void spoil(const Operation& operation, Batch* batch, DispatchResult* dispatched) const {
        if (operation.act == Act::kBadIds) {
            int32_t& id = batch->expert_ids.back();
            id = id < 0 ? free_expert(*batch) : -1;
        } else if (operation.act == Act::kForeignTag) {
            constexpr uint64_t kTagHigh = __builtin_offsetof(AssistTrailer, tag_high) / sizeof(int32_t);
            dispatched->assist_info[trailer_word(dispatched->capacity_rows) + kTagHigh] ^= 1;
        } else if (operation.act == Act::kForeignTriple) {
            dispatched->assist_info[0] = static_cast<int32_t>(scenario_.world.limits.num_ranks);
        }
    }

    // An expert that the last token has not chosen.
    int32_t free_expert(const Batch& batch) const {
        const auto row = batch.expert_ids.end() - batch.num_topk;
        int32_t expert = 0;
        while (std::find(row, batch.expert_ids.end(), expert) != batch.expert_ids.end())
            ++expert;
        return expert;
    }

    const Scenario& scenario_;
    sim::World& world_;
    Inputs& inputs_;
    sim::SimRank& rank_;
    Calls calls_;
    sim::Random random_;
    SeedResult* result_;
    std::map<uint32_t, DispatchResult> held_;  // by round
};

// An act needs something to spoil: a token of the actor, a row it received. Without it the host refuses.
void settle_acts(Scenario* scenario, Inputs& inputs) {
    for (Operation& operation : scenario->operations) {
        const std::vector<Batch>& batches = inputs.round(operation.round);
        if (operation.act == Act::kBadIds && batches[operation.actor].num_tokens == 0)
            operation.act = Act::kHostRefuses;
        if (operation.act == Act::kOtherCall && scenario->world.limits.num_ranks == 1)
            operation.act = Act::kHostRefuses;
        if (operation.act != Act::kForeignTriple) continue;
        const ExpectedRows rows = expected_dispatch(batches, static_cast<int>(scenario->world.limits.num_experts),
                                                    static_cast<int>(operation.actor));
        if (rows.counts.back() == 0) operation.act = Act::kHostRefuses;
    }
}

// Does a row of some dispatch go from one rank to another?
bool has_remote_row(const Scenario& scenario, Inputs& inputs) {
    const auto local = static_cast<int32_t>(local_experts(scenario.world.limits));
    for (const Operation& operation : scenario.operations) {
        const std::vector<Batch>& batches = inputs.round(operation.round);
        for (size_t rank = 0; rank < batches.size(); ++rank) {
            for (int32_t expert : batches[rank].expert_ids)
                if (expert >= 0 && expert / local != static_cast<int32_t>(rank)) return true;
        }
    }
    return false;
}

}  // namespace

Scenario make_scenario(uint64_t seed, const SeedOptions& options) {
    Scenario scenario = draw_scenario(seed, options.with_faults, options.forced);
    if (options.schedule_seed.has_value()) draw_schedule(*options.schedule_seed, &scenario);
    const Scenario drawn = scenario;
    apply_settings(options.settings, &scenario);
    fit_scenario(options.settings, drawn, &scenario);
    scenario.world.assumptions = options.assumptions;
    check_scenario(scenario);
    return scenario;
}

SeedResult run_scenario(Scenario scenario, const std::string& timeline_path, const twin::KernelTable& kernels) {
    SeedResult result;
    Inputs inputs(scenario);
    settle_acts(&scenario, inputs);
    result.has_remote_row = has_remote_row(scenario, inputs);
    sim::Timeline timeline;
    if (!timeline_path.empty()) scenario.world.timeline = &timeline;
    sim::World world(scenario.world);
    for (uint32_t rank = 0; rank < scenario.world.limits.num_ranks; ++rank) {
        world.host(rank, [&](sim::SimRank& machine) {
            Host host(scenario, world, inputs, machine, kernels, &result);
            host.run();
        });
    }
    world.run();
    if (!timeline_path.empty()) write_trace_file(timeline_path, timeline, scenario.world);
    result.findings = world.findings().all();
    result.hash = world.shared().trace.value();
    result.steps = world.shared().steps;
    result.events = world.shared().trace.events();
    result.writes = world.num_writes();
    result.virtual_ns = world.shared().now;
    result.fault = world.fault().kind;
    result.has_struck = world.fault().has_struck;
    return result;
}

SeedResult run_seed(uint64_t seed, const SeedOptions& options, const twin::KernelTable& kernels) {
    return run_scenario(make_scenario(seed, options), options.timeline_path, kernels);
}

}  // namespace ascend_deepep::simulator
