// SPDX-License-Identifier: Apache-2.0
// Layer: simulator.
#include "simulator/binding/search.h"

#include <pybind11/functional.h>
#include <pybind11/stl.h>

#include <cstring>

#include "simulator/binding/convert.h"
#include "simulator/search/search.h"

namespace ascend_deepep::simulator {
namespace {

namespace py = pybind11;

py::list failure_list(const std::vector<SearchFailure>& failures) {
    py::list list;
    for (const SearchFailure& failure : failures)
        list.append(py::make_tuple(failure.checker, failure.text, failure.delays));
    return list;
}

// Writes the delays of the run that begins, and a zero behind them, to memory that others may look at when this process
// is gone.
std::function<void(const std::vector<sim::DelayAt>&)> writer_to(const py::buffer& memory) {
    const py::buffer_info info = memory.request(true);
    char* const begin = static_cast<char*>(info.ptr);
    const auto size = static_cast<size_t>(info.size * info.itemsize);
    return [begin, size](const std::vector<sim::DelayAt>& delays) {
        const std::string text = delays_text(delays);
        if (text.size() >= size) throw std::invalid_argument("under_way is too short for " + text);
        std::memcpy(begin, text.c_str(), text.size() + 1);
    };
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
                  const std::function<void(uint64_t)>& on_progress, const std::optional<py::buffer>& under_way) {
            SearchOptions options{world, tokens, bound, max_runs, max_seconds, max_failures, assumptions_without(drop),
                                  {},    {}};
            if (under_way) options.on_run = writer_to(*under_way);
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
        py::arg("on_progress") = py::none(), py::arg("under_way") = py::none());
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
