// SPDX-License-Identifier: Apache-2.0
//
// op_host's footprint as a dictionary. Layer: framework, the Python binding.
#include "framework/binding/sizes.h"

#include <pybind11/stl.h>

#include <optional>
#include <string>

#include "framework/binding/errors.h"
#include "op_host/footprint.h"
#include "op_host/sizes.h"

namespace ascend_deepep::binding {
namespace {

constexpr const char* kWindowNames[] = {"control_page",   "control_ring",    "abort",
                                        "send_buffer",    "dispatch_half_0", "dispatch_half_1",
                                        "combine_half_0", "combine_half_1",  "combine_staging"};
static_assert(sizeof(kWindowNames) / sizeof(kWindowNames[0]) == kNumWindowRegions);
constexpr const char* kWorkspaceNames[] = {"headers",    "destinations", "copies",        "expert_rows",
                                           "live_ids",   "refusals",     "received_rows", "received_info",
                                           "block_base", "partials",     "own_rows"};
static_assert(sizeof(kWorkspaceNames) / sizeof(kWorkspaceNames[0]) == kNumWorkspaceRegions);

template <typename Layout, size_t kCount>
py::dict regions(const Layout& layout, const char* const (&names)[kCount]) {
    py::dict dict;
    for (size_t i = 0; i < kCount; ++i)
        dict[names[i]] = layout.regions[i].bytes;
    return dict;
}

py::dict footprint(const op_host::Configuration& configuration) {
    op_host::Footprint found;
    raise_if_bad(op_host::footprint_of(configuration, &found));
    py::dict outputs, dict;
    for (const op_host::Output& output : found.outputs)
        outputs[output.name] = output.bytes;
    dict["window_bytes"] = op_host::required_window_bytes(configuration.limits);
    dict["window"] = regions(window_layout(configuration.limits), kWindowNames);
    dict["workspace_bytes"] = op_host::workspace_bytes(configuration.limits);
    dict["workspace"] = regions(workspace_layout(configuration.limits), kWorkspaceNames);
    dict["ub_bytes_per_core"] = found.ub_bytes;
    dict["num_cores"] = configuration.num_cores;
    dict["route_threads"] = found.dispatch.route_width;
    dict["reduce_tile_bytes"] = found.combine.reduce_blocks * kBlockDataBytes;
    dict["token_copy_bytes"] = found.dispatch.token.slot_bytes;
    dict["capacity_rows"] = found.dispatch.capacity_rows;
    dict["outputs"] = outputs;
    return dict;
}

}  // namespace

void bind_footprint(py::module_& module) {
    module.def(
        "footprint",
        [](uint32_t num_ranks, uint32_t max_tokens, uint32_t hidden, uint32_t num_topk, uint32_t num_experts,
           uint32_t shared_expert_num, uint32_t per_expert_copies, uint32_t combine_reduce, uint32_t num_cores,
           bool is_urma, uint32_t rank, uint32_t shared_expert_rank_num, int64_t quant_mode,
           std::optional<int64_t> y_dtype, int64_t comm_quant_mode) {
            op_host::Configuration configuration;
            configuration.limits = {num_ranks,         max_tokens,        hidden,        num_topk, num_experts,
                                    shared_expert_num, per_expert_copies, combine_reduce};
            configuration.num_cores = num_cores == 0 ? default_cores() : num_cores;
            configuration.engine = is_urma ? CombineEngine::kUrma : CombineEngine::kMte;
            configuration.rank = rank;
            configuration.shared_expert_rank_num = shared_expert_rank_num;
            configuration.quant_mode = quant_mode;
            configuration.y_dtype = y_dtype;
            configuration.comm_quant_mode = comm_quant_mode;
            return with_errors([&] { return footprint(configuration); });
        },
        py::kw_only(), py::arg("num_ranks"), py::arg("max_tokens"), py::arg("hidden"), py::arg("num_topk"),
        py::arg("num_experts"), py::arg("shared_expert_num") = 0, py::arg("per_expert_copies") = 0,
        py::arg("combine_reduce") = 0, py::arg("num_cores") = 0, py::arg("is_urma") = false, py::arg("rank") = 0,
        py::arg("shared_expert_rank_num") = 0, py::arg("quant_mode") = 0, py::arg("y_dtype") = py::none(),
        py::arg("comm_quant_mode") = 0);
}

}  // namespace ascend_deepep::binding
