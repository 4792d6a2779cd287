// SPDX-License-Identifier: Apache-2.0
// The Python module ascend_deepep._simulator: one seed at a time. Layer: simulator.
// Its types are written down in python/ascend_deepep/_simulator.pyi. Nothing here decides anything.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstring>

#include "framework/runtime/kernel_library.h"
#include "simulator/binding/convert.h"
#include "simulator/binding/oracle.h"
#include "simulator/binding/scale.h"
#include "simulator/binding/search.h"
#include "simulator/scenario/runner.h"

namespace ascend_deepep::simulator {
namespace {

namespace py = pybind11;

const twin::KernelTable& sim_kernels() {
    const twin::KernelTable& kernels = kernel_table("sim");
    if (std::strcmp(kernels.policy, "Sim") == 0) return kernels;
    throw std::runtime_error(std::string("the kernels are compiled for the policy ") + kernels.policy +
                             ", the simulator needs Sim");
}

std::vector<std::string> fault_names() {
    std::vector<std::string> names;
    for (uint32_t kind = 1; kind < sim::kNumSimFaults; ++kind)
        names.emplace_back(sim::sim_fault_name(static_cast<sim::SimFault>(kind)));
    return names;
}

std::vector<std::string> switch_names() {
    std::vector<std::string> names;
    for (const sim::Switch& known : sim::kSwitches)
        names.emplace_back(known.name);
    return names;
}

SeedOptions make_options(bool faults, const std::string& fault, const std::vector<std::string>& drop,
                         std::optional<uint64_t> schedule_seed, const Settings& settings) {
    SeedOptions options;
    options.with_faults = faults;
    options.forced = sim::sim_fault_from_name(fault);
    if (options.forced == sim::SimFault::kCount) throw py::value_error("no fault is named '" + fault + "'");
    options.assumptions = assumptions_without(drop);
    options.schedule_seed = schedule_seed;
    options.settings = settings;
    return options;
}

py::dict scenario_dict(uint64_t seed, const SeedOptions& options) {
    const Scenario scenario = make_scenario(seed, options);
    py::dict settings;
    for (const auto& [name, value] : settings_of(scenario))
        settings[py::str(name)] = value;
    py::dict result;
    result["description"] = describe(scenario);
    result["settings"] = settings;
    return result;
}

py::dict result_dict(uint64_t seed, const SeedResult& run) {
    std::vector<std::string> struck;
    if (run.has_struck) struck.emplace_back(sim::sim_fault_name(run.fault));
    py::dict result;
    result["seed"] = seed;
    result["findings"] = finding_list(run.findings);
    result["hash"] = run.hash;
    result["steps"] = run.steps;
    result["events"] = run.events;
    result["writes"] = run.writes;
    result["virtual_ns"] = run.virtual_ns;
    result["failed_calls"] = run.failures;
    result["fault"] = std::string(sim::sim_fault_name(run.fault));
    result["struck"] = struck;
    result["conditions"] = run.conditions;
    result["features"] = run.features;
    result["timed"] = run.timed;
    result["has_remote_row"] = run.has_remote_row;
    result["survivors"] = run.num_survivors;
    return result;
}

py::dict run(uint64_t seed, bool faults, const std::string& fault, const std::vector<std::string>& drop,
             std::optional<uint64_t> schedule_seed, const Settings& settings, const std::string& timeline) {
    SeedOptions options = make_options(faults, fault, drop, schedule_seed, settings);
    options.timeline_path = timeline;
    SeedResult result;
    {
        const py::gil_scoped_release released;
        result = run_seed(seed, options, sim_kernels());
    }
    return result_dict(seed, result);
}

py::dict scenario(uint64_t seed, bool faults, const std::string& fault, const std::vector<std::string>& drop,
                  std::optional<uint64_t> schedule_seed, const Settings& settings) {
    return scenario_dict(seed, make_options(faults, fault, drop, schedule_seed, settings));
}

// `more`: further arguments, after those of every seed.
template <typename Function, typename... More>
void bind_of_seed(py::module_& module, const char* name, Function function, More... more) {
    module.def(name, function, py::arg("seed"), py::kw_only(), py::arg("faults") = true, py::arg("fault") = "none",
               py::arg("drop") = std::vector<std::string>{}, py::arg("schedule_seed") = py::none(),
               py::arg("settings") = Settings{}, more...);
}

}  // namespace
}  // namespace ascend_deepep::simulator

PYBIND11_MODULE(_simulator, module) {
    namespace simulator = ascend_deepep::simulator;
    module.def("faults", &simulator::fault_names);
    module.def("switches", &simulator::switch_names);
    module.def("open_kernels", [] { simulator::sim_kernels(); });
    simulator::bind_of_seed(module, "run", &simulator::run, pybind11::arg("timeline") = std::string());
    simulator::bind_of_seed(module, "scenario", &simulator::scenario);
    simulator::bind_oracle(module);
    simulator::bind_search(module, &simulator::sim_kernels);
    simulator::bind_scale(module, &simulator::sim_kernels);
}
