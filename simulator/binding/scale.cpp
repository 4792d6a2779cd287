// SPDX-License-Identifier: Apache-2.0
// Layer: simulator.
#include "simulator/binding/scale.h"

#include <pybind11/stl.h>

#include <string>
#include <utility>
#include <vector>

#include "op_host/messages.h"
#include "simulator/binding/convert.h"
#include "simulator/binding/timeline.h"
#include "simulator/scale/scale_layout.h"
#include "simulator/scale/scale_world.h"

namespace ascend_deepep::simulator {
namespace {

namespace py = pybind11;
using sim::Meter;

constexpr const char* kWindowNames[] = {"control_page", "control_ring",  "abort_cells",
                                        "send_buffer",  "dispatch_half", "dispatch_half",
                                        "combine_half", "combine_half",  "combine_staging"};
static_assert(sizeof(kWindowNames) / sizeof(kWindowNames[0]) == kNumWindowRegions);

CombineEngine engine_from(const std::string& name) {
    if (name != "mte" && name != "urma") throw py::value_error("engine '" + name + "' is not mte or urma");
    return name == "mte" ? CombineEngine::kMte : CombineEngine::kUrma;
}

sim::Costs costs_from(const std::vector<std::pair<std::string, uint64_t>>& given) {
    sim::Costs costs;
    for (const auto& [name, ns] : given) {
        uint64_t* field = nullptr;
        for (const sim::Cost& known : sim::kCosts) {
            if (known.name == name) field = &(costs.*known.field);
        }
        if (field == nullptr) throw py::value_error("no cost is named '" + name + "'");
        *field = ns;
    }
    return costs;
}

py::list cost_list() {
    const sim::Costs costs;
    py::list list;
    for (const sim::Cost& known : sim::kCosts)
        list.append(py::make_tuple(std::string(known.name), costs.*known.field, std::string(known.what)));
    return list;
}

py::dict roles_dict(const op_host::DispatchRoles& dispatch, const op_host::CombineRoles& combine) {
    const auto range = [](const CoreRange& cores) { return py::make_tuple(cores.first, cores.count); };
    py::dict of_dispatch, of_combine, dict;
    of_dispatch["stage"] = range(dispatch.stage);
    of_dispatch["wqe_builder"] = range(dispatch.wqe_builder);
    of_dispatch["doorbell"] = range(dispatch.doorbell);
    of_dispatch["cumsum"] = range(dispatch.cumsum);
    of_combine["control"] = range(combine.control);
    of_combine["doorbell"] = range(combine.doorbell);
    of_combine["send"] = range(combine.send);
    dict["dispatch_v2"] = of_dispatch;
    dict["combine_v2"] = of_combine;
    return dict;
}

py::dict counts_dict(const Meter::Counts& counts) {
    py::dict dict;
    for (uint32_t i = 0; i < Meter::kNumCounts; ++i)
        dict[py::str(std::string(Meter::kNames[i]))] = counts[i];
    return dict;
}

void add_to(const Meter::Counts& counts, Meter::Counts* sum) {
    for (uint32_t i = 0; i < Meter::kNumCounts; ++i)
        (*sum)[i] += counts[i];
}

// Counts by rank, over all cores and stages; by core and stage, over all ranks.
py::dict kernel_dict(const Meter& meter, const Meter::Kernel& kernel) {
    py::list ranks, cores;
    for (uint32_t rank = 0; rank < meter.num_ranks(); ++rank) {
        Meter::Counts sum{};
        for (uint32_t core = 0; core < meter.num_cores(); ++core) {
            for (uint32_t stage = 0; stage < kNumStages; ++stage)
                add_to(meter.of(kernel, rank, core, stage), &sum);
        }
        ranks.append(counts_dict(sum));
    }
    for (uint32_t core = 0; core < meter.num_cores(); ++core) {
        py::dict stages;
        for (uint32_t stage = 0; stage <= static_cast<uint32_t>(Stage::kExit); ++stage) {
            Meter::Counts sum{};
            for (uint32_t rank = 0; rank < meter.num_ranks(); ++rank)
                add_to(meter.of(kernel, rank, core, stage), &sum);
            if (sum != Meter::Counts{}) stages[op_host::stage_name(static_cast<Stage>(stage))] = counts_dict(sum);
        }
        cores.append(stages);
    }
    py::dict dict;
    dict["calls"] = kernel.calls;
    dict["call_ns"] = kernel.call_ns;
    dict["wqes"] = kernel.wqes;
    dict["ranks"] = ranks;
    dict["cores"] = cores;
    return dict;
}

Routing routing_from(const std::string& name) {
    for (uint32_t i = 0; i < static_cast<uint32_t>(Routing::kCount); ++i) {
        if (name == kRoutingNames[i]) return static_cast<Routing>(i);
    }
    throw py::value_error("routing '" + name + "' is not uniform, gate or skewed");
}

sim::Handicap handicap_from(const std::string& kind, const std::vector<std::pair<std::string, uint64_t>>& given) {
    constexpr const char* kKinds[] = {"none", "core", "link", "entry"};
    sim::Handicap handicap;
    uint32_t number = 0;
    while (number < 4 && kind != kKinds[number])
        ++number;
    if (number == 4) throw py::value_error("handicap '" + kind + "' is not none, core, link or entry");
    handicap.kind = static_cast<sim::Handicap::Kind>(number);
    for (const auto& [name, value] : given) {
        if (name == "rank") {
            handicap.rank = static_cast<uint32_t>(value);
        } else if (name == "peer") {
            handicap.peer = static_cast<uint32_t>(value);
        } else if (name == "core") {
            handicap.core = static_cast<uint32_t>(value);
        } else if (name == "ns") {
            handicap.ns = value;
        } else if (name == "times") {
            handicap.times = value;
        } else {
            throw py::value_error("a handicap has no '" + name + "'");
        }
    }
    return handicap;
}

// One dict a call, in the order of their ends. Dispatches and their combines take turns.
py::list call_list(const std::vector<CallRecord>& calls) {
    py::list list;
    for (const CallRecord& call : calls) {
        py::dict dict;
        dict["operator"] = call.operation % 2 == 0 ? "dispatch_v2" : "combine_v2";
        dict["step"] = call.operation / 2;
        dict["rank"] = call.rank;
        dict["start_ns"] = call.start_ns;
        dict["end_ns"] = call.end_ns;
        dict["waits_us"] = call.waits_us;
        dict["recv_counts"] = call.recv_counts;
        list.append(dict);
    }
    return list;
}

py::dict scale_dict(const ScaleResult& result) {
    py::dict kernels, dict;
    for (const Meter::Kernel& kernel : result.meter.kernels())
        kernels[py::str(kernel.name)] = kernel_dict(result.meter, kernel);
    dict["findings"] = finding_list(result.run.findings);
    dict["hash"] = result.run.hash;
    dict["steps"] = result.run.steps;
    dict["virtual_ns"] = result.run.virtual_ns;
    dict["roles"] = roles_dict(result.dispatch_roles, result.combine_roles);
    dict["local_experts"] = local_experts(result.limits);
    dict["control_blocks"] = control_blocks(local_experts(result.limits));
    dict["remote_copies"] = result.remote_copies;
    dict["kernels"] = kernels;
    dict["calls"] = call_list(result.run.calls);
    return dict;
}

py::dict layout_dict(uint32_t ranks, uint32_t cores, uint32_t tokens, uint32_t hidden, uint32_t topk, uint32_t experts,
                     const std::string& engine) {
    const CommunicatorLimits limits{ranks, tokens, hidden, topk, experts, 0};
    const ScaleLayout layout = scale_layout(limits, cores, engine_from(engine));
    py::dict regions, dict;
    for (uint32_t i = 0; i < kNumWindowRegions; ++i) {
        const char* const name = kWindowNames[i];
        const uint64_t before = regions.contains(name) ? regions[name].cast<uint64_t>() : 0;
        regions[name] = before + layout.window.regions[i].bytes;
    }
    dict["regions"] = regions;
    dict["window_bytes"] = layout.window.total_bytes;
    dict["workspace_bytes"] = layout.workspace.total_bytes;
    dict["control_blocks"] = layout.window.control_blocks;
    dict["local_experts"] = layout.local_experts;
    dict["copy_bytes"] = layout.copy_bytes;
    dict["row_bytes"] = layout.row_bytes;
    dict["route_width"] = layout.route_width;
    dict["roles"] = roles_dict(layout.dispatch_roles, layout.combine_roles);
    return dict;
}

}  // namespace

void bind_scale(py::module_& module, const twin::KernelTable& (*kernels)()) {
    module.def("scale_costs", &cost_list);
    module.def("scale_layout", &layout_dict, py::kw_only(), py::arg("ranks"), py::arg("cores"), py::arg("tokens"),
               py::arg("hidden"), py::arg("topk"), py::arg("experts"), py::arg("engine"));
    module.def(
        "run_scale",
        [kernels](uint32_t ranks, uint32_t cores, uint32_t tokens, uint32_t hidden, uint32_t topk, uint32_t experts,
                  const std::string& engine, uint32_t rounds,
                  const std::vector<std::pair<std::string, uint64_t>>& costs, const std::string& routing, uint64_t seed,
                  bool calls, const std::string& handicap,
                  const std::vector<std::pair<std::string, uint64_t>>& of_handicap, bool timeline) {
            sim::Timeline recorded;
            const ScaleOptions options{ranks,
                                       cores,
                                       tokens,
                                       hidden,
                                       topk,
                                       experts,
                                       engine_from(engine),
                                       rounds,
                                       costs_from(costs),
                                       routing_from(routing),
                                       seed,
                                       calls,
                                       handicap_from(handicap, of_handicap),
                                       timeline ? &recorded : nullptr};
            ScaleResult result;
            {
                const py::gil_scoped_release released;
                result = run_scale(options, kernels());
            }
            py::dict dict = scale_dict(result);
            dict["timeline"] = timeline ? timeline_list(recorded, result.limits, 1) : py::list();
            return dict;
        },
        py::kw_only(), py::arg("ranks"), py::arg("cores"), py::arg("tokens"), py::arg("hidden"), py::arg("topk"),
        py::arg("experts"), py::arg("engine"), py::arg("rounds"), py::arg("costs"), py::arg("routing") = "uniform",
        py::arg("seed") = 1, py::arg("calls") = false, py::arg("handicap") = "none",
        py::arg("of_handicap") = std::vector<std::pair<std::string, uint64_t>>{}, py::arg("timeline") = false);
}

}  // namespace ascend_deepep::simulator
