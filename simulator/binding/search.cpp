// SPDX-License-Identifier: Apache-2.0
// Layer: simulator.
#include "simulator/binding/search.h"

#include <pybind11/functional.h>
#include <pybind11/stl.h>

#include "simulator/search/search.h"

namespace ascend_deepep::simulator {
namespace {

namespace py = pybind11;

sim::Assumptions assumptions_without(const std::vector<std::string>& drop) {
    sim::Assumptions assumptions;
    for (const std::string& name : drop) {
        if (!sim::drop_switch(name, &assumptions)) throw py::value_error("no switch is named '" + name + "'");
    }
    return assumptions;
}

py::list failure_list(const std::vector<SearchFailure>& failures) {
    py::list list;
    for (const SearchFailure& failure : failures)
        list.append(py::make_tuple(failure.checker, failure.text, failure.delays));
    return list;
}

py::list finding_list(const std::vector<sim::Finding>& findings) {
    py::list list;
    for (const sim::Finding& finding : findings)
        list.append(py::make_tuple(finding.checker, finding.what));
    return list;
}

py::dict search_dict(const SearchResult& result) {
    py::dict dict;
    dict["runs"] = result.runs;
    dict["replayed"] = result.replayed;
    dict["points"] = result.points;
    dict["different"] = result.states;
    dict["bound"] = result.bound;
    dict["is_complete"] = result.is_complete;
    dict["seconds"] = result.seconds;
    dict["failures"] = failure_list(result.failures);
    return dict;
}

}  // namespace

void bind_search(py::module_& module, const twin::KernelTable& (*kernels)()) {
    module.def("search_worlds", &search_worlds);
    module.def(
        "search",
        [kernels](const std::string& world, uint32_t tokens, uint32_t bound, uint64_t max_runs, double max_seconds,
                  uint32_t max_failures, const std::vector<std::string>& drop,
                  const std::function<void(uint64_t)>& on_progress) {
            SearchOptions options{world, tokens, bound, max_runs, max_seconds, max_failures, assumptions_without(drop),
                                  {}};
            options.on_progress = [&](uint64_t runs) {
                const py::gil_scoped_acquire held;
                if (PyErr_CheckSignals() != 0) throw py::error_already_set();
                if (on_progress) on_progress(runs);
            };
            SearchResult result;
            {
                const py::gil_scoped_release released;
                result = search(options, kernels());
            }
            return search_dict(result);
        },
        py::arg("world"), py::kw_only(), py::arg("tokens") = 1, py::arg("bound") = 2, py::arg("max_runs") = 0,
        py::arg("max_seconds") = 0, py::arg("max_failures") = 1, py::arg("drop") = std::vector<std::string>{},
        py::arg("on_progress") = py::none());
    module.def(
        "replay_search",
        [kernels](const std::string& world, const std::string& delays, uint32_t tokens,
                  const std::vector<std::string>& drop, const std::string& timeline) {
            SearchOptions options;
            options.world = world;
            options.num_tokens = tokens;
            options.assumptions = assumptions_without(drop);
            const SeedResult run = replay(options, parse_delays(delays), timeline, kernels());
            py::dict dict;
            dict["hash"] = run.hash;
            dict["findings"] = finding_list(run.findings);
            return dict;
        },
        py::arg("world"), py::arg("delays"), py::kw_only(), py::arg("tokens") = 1,
        py::arg("drop") = std::vector<std::string>{}, py::arg("timeline") = "");
}

}  // namespace ascend_deepep::simulator
