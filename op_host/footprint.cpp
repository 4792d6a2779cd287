// SPDX-License-Identifier: Apache-2.0
//
// The largest calls of a configuration, and what the functions of real calls say of them. Layer: op_host.
#include "op_host/footprint.h"

#include <utility>

#include "op_host/check.h"
#include "op_host/geometry.h"
#include "op_host/quant.h"
#include "op_host/tiling.h"

namespace ascend_deepep::op_host {
namespace {

TensorInfo tensor(Dtype dtype, std::vector<int64_t> shape) {
    TensorInfo info;
    info.is_present = true;
    info.dtype = dtype;
    info.shape = std::move(shape);
    return info;
}

CommonAttributes attributes_of(const Configuration& c) {
    CommonAttributes a;
    a.ep_world_size = c.limits.num_ranks;
    a.ep_rank_id = c.rank;
    a.moe_expert_num = c.limits.num_experts;
    a.shared_expert_num = c.limits.shared_expert_num;
    a.shared_expert_rank_num = c.shared_expert_rank_num;
    a.comm_alg = c.limits.per_expert_copies != 0 ? "fullmesh_v1" : "";
    return a;
}

DispatchCall dispatch_call(const Configuration& c) {
    const int64_t tokens = c.limits.max_tokens, topk = c.limits.num_topk;
    DispatchCall call;
    call.x = tensor(Dtype::kBf16, {tokens, c.limits.hidden});
    call.expert_ids = tensor(Dtype::kInt32, {tokens, topk});
    if (c.quant_mode == kQuantStatic) call.scales = tensor(Dtype::kFp32, {1});
    if (c.limits.combine_reduce != 0) call.expert_scales = tensor(Dtype::kFp32, {tokens, topk});
    call.attributes = attributes_of(c);
    call.quant_mode = c.quant_mode;
    call.y_dtype = c.y_dtype;
    return call;
}

CombineCall combine_call(const Configuration& c, const DispatchShapes& shapes) {
    const int64_t tokens = c.limits.max_tokens, topk = c.limits.num_topk;
    CombineCall call;
    call.expand_x = tensor(Dtype::kBf16, {shapes.capacity_rows, shapes.hidden});
    call.expert_ids = tensor(Dtype::kInt32, {tokens, topk});
    call.assist_info_for_combine = tensor(Dtype::kInt32, {shapes.assist_info});
    call.ep_send_counts = tensor(Dtype::kInt32, {shapes.ep_recv_counts});
    call.expert_scales = tensor(Dtype::kFp32, {tokens, topk});
    if (c.limits.combine_reduce != 0) call.expand_scales = tensor(Dtype::kFp32, {shapes.expand_scales});
    call.attributes = attributes_of(c);
    call.comm_quant_mode = c.comm_quant_mode;
    return call;
}

uint64_t bytes_of(Dtype dtype, int64_t rows, int64_t columns) {
    return static_cast<uint64_t>(size_product(size_product(rows, columns == 0 ? 1 : columns), dtype_bytes(dtype)));
}

std::vector<Output> outputs_of(const DispatchShapes& s, const CommunicatorLimits& limits) {
    return {{"expand_x", bytes_of(s.expand_dtype, s.capacity_rows, s.hidden)},
            {"dynamic_scales", bytes_of(s.scale_dtype, s.dynamic_scales, s.scale_columns)},
            {"assist_info_for_combine", bytes_of(Dtype::kInt32, s.assist_info, 0)},
            {"expert_token_nums", bytes_of(Dtype::kInt64, s.expert_token_nums, 0)},
            {"ep_recv_counts", bytes_of(Dtype::kInt32, s.ep_recv_counts, 0)},
            {"tp_recv_counts", bytes_of(Dtype::kInt32, s.tp_recv_counts, 0)},
            {"expand_scales", bytes_of(Dtype::kFp32, s.expand_scales, 0)},
            {"x_out", bytes_of(Dtype::kBf16, limits.max_tokens, limits.hidden)}};
}

}  // namespace

Status footprint_of(const Configuration& c, Footprint* footprint) {
    Status status = check_limits(c.limits, c.num_cores, 0);
    if (!status.ok()) return status;
    const DispatchCall dispatch = dispatch_call(c);
    DispatchShapes shapes;
    status = check_dispatch(c.limits, c.rank, dispatch, &shapes);
    if (!status.ok()) return status;
    const CombineCall combine = combine_call(c, shapes);
    status = check_combine(c.limits, c.rank, combine);
    if (!status.ok()) return status;
    Machine machine{};
    machine.rank = c.rank;
    machine.num_cores = c.num_cores;
    make_dispatch_tiling(c.limits, machine, dispatch, DispatchAddresses{}, &footprint->dispatch);
    make_combine_tiling(c.limits, machine, c.engine, combine, CombineAddresses{}, &footprint->combine);
    footprint->outputs = outputs_of(shapes, c.limits);
    footprint->ub_bytes = kKernelUbBytes;
    return status;
}

}  // namespace ascend_deepep::op_host
