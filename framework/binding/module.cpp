// SPDX-License-Identifier: Apache-2.0
//
// The Python module ascend_deepep._runtime: communicators, limits and sizes. Layer: framework.
// Its types are written down in python/ascend_deepep/_runtime.pyi. Nothing here decides anything.
#include <pybind11/functional.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "framework/binding/errors.h"
#include "framework/binding/sizes.h"
#include "framework/runtime/communicator.h"
#include "op_host/messages.h"
#include "op_host/roles.h"
#include "op_host/sizes.h"
#include "twin/fabric/fault.h"
#include "twin/runtime/copy_kernels.h"

namespace ascend_deepep::binding {
namespace {

CommunicatorLimits make_limits(uint32_t num_ranks, uint32_t max_tokens, uint32_t hidden, uint32_t num_topk,
                               uint32_t num_experts, uint32_t shared_expert_num, uint32_t per_expert_copies,
                               uint32_t combine_reduce) {
    return {num_ranks, max_tokens, hidden, num_topk, num_experts, shared_expert_num, per_expert_copies, combine_reduce};
}

py::dict limits() {
    py::dict values;
    values["max_ranks"] = kMaxRanks;
    values["max_experts"] = kMaxExperts;
    values["max_blocks_per_rank"] = kMaxBlocksPerRank;
    values["max_tokens"] = kMaxTokens;
    values["max_topk"] = kMaxTopk;
    values["max_shared_experts"] = kMaxSharedExperts;
    values["min_hidden"] = kMinHidden;
    values["max_hidden"] = kMaxHidden;
    values["hidden_multiple"] = kHiddenMultiple;
    values["min_cores"] = op_host::min_cores();
    values["max_cores"] = kMaxCores;
    values["max_name_length"] = kMaxNameLength;
    return values;
}

py::dict counters(const Communicator& communicator) {
    const Counters counted = communicator.counters();
    py::dict values;
    values["copies"] = counted.copies;
    values["rows"] = counted.rows;
    values["bytes_put_dispatch"] = counted.bytes_put_dispatch;
    values["bytes_put_combine"] = counted.bytes_put_combine;
    values["bytes_put_control"] = counted.bytes_put_control;
    values["wqes_dispatch"] = counted.wqes_dispatch;
    values["wqes_combine"] = counted.wqes_combine;
    values["doorbells_dispatch"] = counted.doorbells_dispatch;
    values["doorbells_combine"] = counted.doorbells_combine;
    values["operations"] = counted.operations;
    py::dict role_ns;
    for (uint32_t stage = 1; stage <= static_cast<uint32_t>(Stage::kExit); ++stage) {
        role_ns[op_host::stage_name(static_cast<Stage>(stage))] = counted.role_ns.at(stage);
    }
    values["role_ns"] = role_ns;
    return values;
}

// For benchmarks: what this machine can copy, by the copies that rows go through.
void stream_copy(const py::buffer& to, const py::buffer& from) {
    const py::buffer_info target = to.request(true), source = from.request();
    const auto bytes = static_cast<size_t>(source.size * source.itemsize);
    if (static_cast<size_t>(target.size * target.itemsize) != bytes) {
        throw py::value_error("stream_copy: the target has " + std::to_string(target.size * target.itemsize) +
                              " bytes, the source " + std::to_string(bytes) + ": give two buffers of one size");
    }
    const py::gil_scoped_release no_gil;
    twin::copy_kernels().stream(static_cast<uint8_t*>(target.ptr), static_cast<const uint8_t*>(source.ptr), bytes);
}

CombineEngine engine_from(const std::string& name) {
    if (name == "mte") return CombineEngine::kMte;
    if (name == "urma") return CombineEngine::kUrma;
    throw py::value_error("combine_engine is '" + name + "': it is 'mte' or 'urma'");
}

// The exchange runs Python code from C++ code that has released the interpreter lock.
AllGather wrap_all_gather(const py::function& function) {
    return [&function](const std::string& payload) {
        const py::gil_scoped_acquire gil;
        std::vector<std::string> gathered;
        const py::object answers = function(py::bytes(payload));
        for (const py::handle answer : answers)
            gathered.push_back(answer.cast<py::bytes>());
        return gathered;
    };
}

std::shared_ptr<Communicator> create(const CommunicatorOptions& options, const py::function& all_gather) {
    return with_errors([&] {
        const AllGather exchange = wrap_all_gather(all_gather);
        const py::gil_scoped_release released;
        return Communicator::create(options, exchange);
    });
}

// True when Ctrl-C came. The signal stays pending: Python raises KeyboardInterrupt once the call is back.
bool signal_is_pending() {
    if (Py_IsInitialized() == 0) return false;
    const py::gil_scoped_acquire gil;
    if (PyOS_InterruptOccurred() == 0) return false;
    PyErr_SetInterrupt();
    return true;
}

// Runs `body`, which may take a while, without the interpreter lock; raises the status it returns.
template <typename Body>
void raise_unlocked(Body body) {
    op_host::Status status;
    {
        const py::gil_scoped_release released;
        status = body();
    }
    raise_if_bad(status);
}

void bind_communicator(py::module_& module) {
    py::class_<Communicator, std::shared_ptr<Communicator>>(module, "Communicator")
        .def(py::init([](const std::string& name, uint32_t rank, uint32_t num_ranks, uint32_t max_tokens,
                         uint32_t hidden, uint32_t num_topk, uint32_t num_experts, uint32_t shared_expert_num,
                         uint32_t per_expert_copies, uint32_t combine_reduce, uint32_t num_cores, uint32_t timeout_ms,
                         uint64_t window_bytes, uint32_t queue_depth, const std::string& combine_engine,
                         const std::string& policy, const py::function& all_gather, const std::string& target,
                         uint64_t heap_bytes, uint32_t queues_per_peer, const std::string& roles) {
                 CommunicatorOptions options;
                 options.name = name;
                 options.rank = rank;
                 options.limits = make_limits(num_ranks, max_tokens, hidden, num_topk, num_experts, shared_expert_num,
                                              per_expert_copies, combine_reduce);
                 options.num_cores = num_cores;
                 options.timeout_ms = timeout_ms;
                 options.window_bytes = window_bytes;
                 options.queue_depth = queue_depth;
                 options.combine_engine = engine_from(combine_engine);
                 options.policy = policy;
                 options.target = target;
                 options.heap_bytes = heap_bytes;
                 options.queues_per_peer = queues_per_peer;
                 options.roles = roles;
                 return create(options, all_gather);
             }),
             py::kw_only(), py::arg("name"), py::arg("rank"), py::arg("num_ranks"), py::arg("max_tokens"),
             py::arg("hidden"), py::arg("num_topk"), py::arg("num_experts"), py::arg("shared_expert_num") = 0,
             py::arg("per_expert_copies") = 0, py::arg("combine_reduce") = 0, py::arg("num_cores") = 0,
             py::arg("timeout_ms") = 0, py::arg("window_bytes") = 0, py::arg("queue_depth") = 0,
             py::arg("combine_engine") = "mte", py::arg("policy") = "", py::arg("all_gather"), py::arg("target") = "",
             py::arg("heap_bytes") = 0, py::arg("queues_per_peer") = 0, py::arg("roles") = "")
        .def_property_readonly("name", [](const Communicator& self) { return self.options().name; })
        .def_property_readonly("target", &Communicator::target)
        .def_property_readonly("rank", [](const Communicator& self) { return self.options().rank; })
        .def_property_readonly("num_ranks", [](const Communicator& self) { return self.options().limits.num_ranks; })
        .def_property_readonly("num_cores", [](const Communicator& self) { return self.options().num_cores; })
        .def_property_readonly("roles", [](const Communicator& self) { return self.options().roles; })
        .def_property_readonly("queues_per_peer",
                               [](const Communicator& self) { return self.options().queues_per_peer; })
        .def_property_readonly("window_bytes", &Communicator::window_bytes)
        .def_property_readonly("layout", &Communicator::layout)
        .def_property_readonly("closed", &Communicator::closed)
        .def("check", [](Communicator& self) { raise_unlocked([&] { return self.health(); }); })
        .def("synchronize", [](Communicator& self) { raise_unlocked([&] { return self.synchronize(); }); })
        .def("close", &Communicator::close, py::call_guard<py::gil_scoped_release>())
        .def("counters", &counters)
        .def("progress", &Communicator::progress, py::call_guard<py::gil_scoped_release>())
        .def(
            "set_fault",
            [](Communicator& self, const std::string& name, uint64_t seed, uint64_t events) {
                raise_if_bad(self.set_fault(name, seed, events));
            },
            py::arg("name"), py::arg("seed"), py::arg("events") = 1)
        .def("fault_fired", &Communicator::fault_fired);
}

template <typename Function>
void bind_of_limits(py::module_& module, const char* name, Function function) {
    module.def(
        name,
        [function](uint32_t num_ranks, uint32_t max_tokens, uint32_t hidden, uint32_t num_topk, uint32_t num_experts,
                   uint32_t shared_expert_num, uint32_t per_expert_copies, uint32_t combine_reduce) {
            return with_errors([&] {
                return function(checked(make_limits(num_ranks, max_tokens, hidden, num_topk, num_experts,
                                                    shared_expert_num, per_expert_copies, combine_reduce)));
            });
        },
        py::arg("num_ranks"), py::arg("max_tokens"), py::arg("hidden"), py::arg("num_topk"), py::arg("num_experts"),
        py::arg("shared_expert_num") = 0, py::arg("per_expert_copies") = 0, py::arg("combine_reduce") = 0);
}

}  // namespace
}  // namespace ascend_deepep::binding

PYBIND11_MODULE(_runtime, module) {
    namespace binding = ascend_deepep::binding;
    module.attr("LAYOUT_ABI") = ascend_deepep::kLayoutAbi;
    module.def("limits", &binding::limits);
    module.def("default_cores", &ascend_deepep::default_cores);
    module.def("targets", &ascend_deepep::target_names);
    module.def("communicator_names", &ascend_deepep::communicator_names);
    module.def("stream_copy", &binding::stream_copy);
    module.def("fault_names", &ascend_deepep::twin::fault_names);
    binding::bind_of_limits(module, "required_window_bytes", &ascend_deepep::op_host::required_window_bytes);
    binding::bind_footprint(module);
    binding::bind_communicator(module);
    ascend_deepep::set_interrupt_check(&binding::signal_is_pending);
}
