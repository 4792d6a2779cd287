// SPDX-License-Identifier: Apache-2.0
//
// Sizes of window, workspace, queues, UB and outputs, as the parts that make them say. Layer: framework.
// op_host and the twin's engine compute; this asks them for the largest calls and hands their answers on.
#include "framework/binding/sizes.h"

#include <pybind11/stl.h>

#include "framework/binding/arguments.h"
#include "framework/binding/errors.h"
#include "framework/runtime/communicator.h"
#include "framework/runtime/memory_need.h"
#include "op_host/check.h"
#include "op_host/geometry.h"
#include "op_host/largest_calls.h"
#include "op_host/messages.h"
#include "op_host/quant.h"
#include "op_host/sizes.h"
#include "op_host/tiling.h"
#include "twin/fabric/urma_engine.h"

namespace ascend_deepep::binding {
namespace {

struct Question {
    CommunicatorLimits limits{};
    op_host::CallChoices choices;
    CombineEngine engine = CombineEngine::kMte;
    uint32_t num_cores = 0;
    uint32_t queues_per_peer = 1;
    uint32_t queue_depth = 0;
};

struct Answer {
    op_host::DispatchShapes shapes;
    DispatchTiling dispatch;
    CombineTiling combine;
    Dtype x_out_dtype;
};

// What a communicator or a call would refuse is refused with its words.
void check_machine(const Question& q) {
    raise_if_bad(op_host::check_limits(q.limits, q.num_cores, 0));
    raise_if_bad(op_host::check_queues_per_peer(q.queues_per_peer));
    raise_if_bad(op_host::check_queue_depth(q.queue_depth));
}

// The refusal is the rank's own, whichever rank is asked for.
void raise_if_refused(uint32_t rank, op_host::Status status) {
    status.record.rank = rank;
    raise_if_bad(status);
}

Answer answer_of(const Question& q) {
    Answer answer{};
    const uint32_t rank = q.choices.rank;
    const op_host::DispatchCall dispatch = op_host::largest_dispatch(q.limits, q.choices);
    raise_if_refused(rank, op_host::check_dispatch(q.limits, rank, dispatch, &answer.shapes));
    const op_host::CombineCall combine = op_host::largest_combine(q.limits, q.choices, answer.shapes);
    raise_if_refused(rank, op_host::check_combine(q.limits, rank, combine));
    op_host::Machine machine{};
    machine.rank = rank;
    machine.num_cores = q.num_cores;
    machine.queues_per_peer = q.queues_per_peer;
    op_host::make_dispatch_tiling(q.limits, machine, dispatch, {}, &answer.dispatch);
    op_host::make_combine_tiling(q.limits, machine, q.engine, combine, {}, &answer.combine);
    answer.x_out_dtype = combine.expand_x.dtype;
    return answer;
}

template <typename Names, typename Layout>
py::dict memory_dict(const Layout& layout) {
    py::list regions;
    uint32_t number = 0;
    for (const Region& region : layout.regions) {
        regions.append(py::make_tuple(op_host::region_name(static_cast<Names>(number++)), region.offset, region.bytes));
    }
    py::dict dict;
    dict["regions"] = regions;
    dict["bytes"] = layout.total_bytes;
    return dict;
}

py::tuple output(const char* name, std::vector<int64_t> shape, Dtype dtype) {
    int64_t bytes = op_host::dtype_bytes(dtype);
    for (const int64_t extent : shape)
        bytes = op_host::size_product(bytes, extent);
    return py::make_tuple(name, py::tuple(py::cast(shape)), op_host::dtype_name(dtype), bytes);
}

py::list dispatch_outputs(const op_host::DispatchShapes& s) {
    std::vector<int64_t> scales{s.dynamic_scales};
    if (s.scale_columns != 0) scales.push_back(s.scale_columns);
    py::list outputs;
    outputs.append(output("expand_x", {s.capacity_rows, s.hidden}, s.expand_dtype));
    outputs.append(output("dynamic_scales", scales, s.scale_dtype));
    outputs.append(output("assist_info_for_combine", {s.assist_info}, Dtype::kInt32));
    outputs.append(output("expert_token_nums", {s.expert_token_nums}, Dtype::kInt64));
    outputs.append(output("ep_recv_counts", {s.ep_recv_counts}, Dtype::kInt32));
    outputs.append(output("tp_recv_counts", {s.tp_recv_counts}, Dtype::kInt32));
    outputs.append(output("expand_scales", {s.expand_scales}, Dtype::kFp32));
    return outputs;
}

py::list ub_list(const Answer& answer) {
    const op_host::UbShare route = op_host::route_ub(answer.dispatch);
    const op_host::UbShare reduce = op_host::reduce_ub(answer.combine);
    py::list list;
    list.append(py::make_tuple(op_host::kind_name(OperationKind::kDispatch), op_host::stage_name(Stage::kRoute),
                               route.bytes, route.limit));
    list.append(py::make_tuple(op_host::kind_name(OperationKind::kCombine), op_host::stage_name(Stage::kReduce),
                               reduce.bytes, reduce.limit));
    return list;
}

py::dict role_dict(const Answer& answer) {
    py::dict dispatch, combine, roles;
    dispatch[op_host::stage_name(Stage::kStage)] = answer.dispatch.stage.count;
    dispatch[op_host::stage_name(Stage::kWqeBuilder)] = answer.dispatch.wqe_builder.count;
    dispatch[op_host::stage_name(Stage::kDoorbell)] = answer.dispatch.doorbell.count;
    dispatch[op_host::stage_name(Stage::kCumsum)] = answer.dispatch.cumsum.count;
    combine[op_host::stage_name(Stage::kControl)] = answer.combine.control.count;
    combine[op_host::stage_name(Stage::kDoorbell)] = answer.combine.doorbell.count;
    combine[op_host::stage_name(Stage::kSend)] = answer.combine.send.count;
    roles[op_host::kind_name(OperationKind::kDispatch)] = dispatch;
    roles[op_host::kind_name(OperationKind::kCombine)] = combine;
    return roles;
}

py::dict sizes_dict(const Question& q) {
    check_machine(q);
    const Answer answer = answer_of(q);
    py::list combined;
    combined.append(output("x", {q.limits.max_tokens, q.limits.hidden}, answer.x_out_dtype));
    py::dict dict;
    dict["window"] = memory_dict<WindowRegion>(window_layout(q.limits));
    dict["workspace"] = memory_dict<WorkspaceRegion>(workspace_layout(q.limits));
    dict["queue_depth"] = q.queue_depth;
    dict["queue_bytes"] =
        twin::UrmaEngine::memory_bytes(q.limits.num_ranks, q.queue_depth, q.queue_depth, q.queues_per_peer);
    dict["touched_bytes"] = touched_bytes_per_rank(q.limits, q.engine, q.queue_depth * q.queues_per_peer);
    dict["num_cores"] = q.num_cores;
    dict["roles"] = role_dict(answer);
    dict["ub"] = ub_list(answer);
    dict["kernel_ub_bytes"] = kKernelUbBytes;
    dict["dispatch_outputs"] = dispatch_outputs(answer.shapes);
    dict["combine_outputs"] = combined;
    return dict;
}

}  // namespace

void bind_sizes(py::module_& module) {
    module.def(
        "sizes",
        [](uint32_t num_ranks, uint32_t max_tokens, uint32_t hidden, uint32_t num_topk, uint32_t num_experts,
           uint32_t shared_expert_num, uint32_t per_expert_copies, uint32_t combine_reduce, uint32_t rank,
           uint32_t shared_expert_rank_num, int64_t quant_mode, const std::string& x_dtype,
           const std::optional<std::string>& y_dtype, int64_t comm_quant_mode, const std::string& combine_engine,
           uint32_t num_cores, uint32_t queues_per_peer, uint32_t queue_depth) {
            Question q;
            q.limits = make_limits(num_ranks, max_tokens, hidden, num_topk, num_experts, shared_expert_num,
                                   per_expert_copies, combine_reduce);
            q.choices = {rank, shared_expert_rank_num, quant_mode, dtype_from("x_dtype", x_dtype), {}, comm_quant_mode};
            if (y_dtype.has_value()) q.choices.y_dtype = dtype_from("y_dtype", *y_dtype);
            q.engine = engine_from(combine_engine);
            q.num_cores = num_cores != 0 ? num_cores : default_cores();
            q.queues_per_peer = queues_per_peer;
            q.queue_depth = queue_depth != 0 ? queue_depth : default_queue_depth(max_tokens);
            return sizes_dict(q);
        },
        py::kw_only(), py::arg("num_ranks"), py::arg("max_tokens"), py::arg("hidden"), py::arg("num_topk"),
        py::arg("num_experts"), py::arg("shared_expert_num") = 0, py::arg("per_expert_copies") = 0,
        py::arg("combine_reduce") = 0, py::arg("rank") = 0, py::arg("shared_expert_rank_num") = 0,
        py::arg("quant_mode") = 0, py::arg("x_dtype") = "bfloat16", py::arg("y_dtype") = py::none(),
        py::arg("comm_quant_mode") = 0, py::arg("combine_engine") = "mte", py::arg("num_cores") = 0,
        py::arg("queues_per_peer") = 1, py::arg("queue_depth") = 0);
}

}  // namespace ascend_deepep::binding
