// SPDX-License-Identifier: Apache-2.0
//
// Tiling data of both operators. Layer: op_host. Numbers that bound UB stand here, with what they are spent on;
// all else is read off the contract.
#include "op_host/tiling.h"

#include <algorithm>

#include "op_host/geometry.h"
#include "op_host/roles.h"

namespace ascend_deepep::op_host {
namespace {

// Shares of the kKernelUbBytes of UB a kernel has.
constexpr uint64_t kRouteCounterBytes = 128 * 1024;  // route: one counter per thread, expert and rank
constexpr uint64_t kReduceBytes = 150 * 1024;        // reduce: one piece of each column's row, and the sum
static_assert(kRouteCounterBytes < kKernelUbBytes && kReduceBytes < kKernelUbBytes);
constexpr uint32_t kMaxRouteWidth = 1024;
constexpr uint32_t kCollectBatch = 4;  // token copies of a work item: few enough to share out evenly
constexpr uint32_t kSimtWidth = 64;    // two warps: a thread of the twin is a call, and each has a few packs to sum

CommonTiling common_tiling(const CommunicatorLimits& limits, const Machine& machine, OperationKind kind) {
    CommonTiling t{};
    t.window_table = machine.window_table;
    t.queue_table = machine.queue_table;
    t.workspace = machine.workspace;
    t.timeout_cycles = machine.timeout_cycles;
    t.rank = machine.rank;
    t.num_ranks = limits.num_ranks;
    t.num_cores = machine.num_cores;
    t.limit_tokens = limits.max_tokens;
    t.simt_width = kSimtWidth;
    t.signature.kind = static_cast<uint32_t>(kind);
    t.signature.layout_abi = kLayoutAbi;
    t.window = window_layout(limits);
    for (Region& region : t.window.regions)
        region.offset += machine.window_offset;
    t.workspace_layout = workspace_layout(limits);
    return t;
}

void set_geometry(const Geometry& g, Dtype dtype, int64_t quant_mode, CommonTiling* t) {
    t->local_experts = static_cast<uint32_t>(g.local_experts);
    t->num_tokens = static_cast<uint32_t>(g.num_tokens);
    t->hidden = static_cast<uint32_t>(g.hidden);
    t->num_topk = static_cast<uint32_t>(g.num_topk);
    t->num_experts = static_cast<uint32_t>(g.num_experts);
    CallSignature& s = t->signature;
    s.hidden = t->hidden;
    s.num_topk = t->num_topk;
    s.num_experts = t->num_experts;
    s.shared_expert_num = static_cast<uint32_t>(g.shared_expert_num);
    s.quant_mode = static_cast<uint32_t>(quant_mode);
    s.x_dtype = static_cast<uint32_t>(dtype);
    s.out_dtype = s.x_dtype;
    s.max_tokens = static_cast<uint32_t>(g.max_batch);
}

// A refused call has no geometry that could be trusted; the limits' own keeps every derived number meaningful.
void set_refused(const CommunicatorLimits& limits, const Refusal& refusal, CommonTiling* t) {
    t->is_refused = 1;
    t->refusal = refusal;
    t->local_experts = local_experts(limits);
    t->hidden = limits.hidden;
    t->num_topk = limits.num_topk;
    t->num_experts = limits.num_experts;
}

uint32_t reduce_blocks(uint32_t num_topk, uint32_t blocks) {
    const uint64_t fit = kReduceBytes / ((uint64_t{num_topk} + 1) * kBlockDataBytes);
    return static_cast<uint32_t>(std::clamp<uint64_t>(fit, 1, blocks));
}

// Behind the triples, at the next whole unit. 128 words a row leave room for it from the first row on.
uint64_t assist_trailer_offset(uint64_t capacity_rows) {
    constexpr uint64_t kUnitWords = kUnitBytes / sizeof(uint32_t);
    static_assert(kTripleWords + kUnitWords - 1 + sizeof(AssistTrailer) / sizeof(uint32_t) <= kAssistRowWords);
    return align_up(capacity_rows * kTripleWords, kUnitWords);
}

void set_dispatch_roles(const CommunicatorLimits& limits, uint32_t num_cores, DispatchTiling* t) {
    const DispatchRoles roles = dispatch_roles(num_cores, limits);
    t->stage = roles.stage;
    t->wqe_builder = roles.wqe_builder;
    t->doorbell = roles.doorbell;
    t->cumsum = roles.cumsum;
    t->route_width = route_width(t->common.num_tokens, t->common.num_experts, t->common.num_ranks);
    t->token = token_layout(t->common.hidden, t->common.num_topk);
    t->collect_batch = kCollectBatch;
}

void set_combine_roles(uint32_t num_cores, CombineEngine engine, CombineTiling* t) {
    const CombineRoles roles = combine_roles(num_cores, engine);
    t->engine = static_cast<uint32_t>(engine);
    t->control = roles.control;
    t->send = roles.send;
    t->doorbell = roles.doorbell;
    t->blocks = row_blocks(t->common.hidden);
    t->reduce_blocks = reduce_blocks(t->common.num_topk, t->blocks);
}

}  // namespace

bool has_expert_scales(const CombineCall& call) {
    return num_elements(call.expert_scales) > 0;
}

uint32_t route_width(uint32_t num_tokens, uint32_t num_experts, uint32_t num_ranks) {
    const uint64_t thread_bytes = (uint64_t{num_experts} + num_ranks) * sizeof(uint32_t);
    const uint64_t fit = std::clamp<uint64_t>(kRouteCounterBytes / thread_bytes, 1, kMaxRouteWidth);
    const uint64_t tokens = std::max(1U, num_tokens);
    const uint64_t tokens_each = ceil_div(tokens, std::min(fit, tokens));
    return static_cast<uint32_t>(ceil_div(tokens, tokens_each));
}

void make_dispatch_tiling(const CommunicatorLimits& limits, const Machine& machine, const DispatchCall& call,
                          const DispatchAddresses& addresses, DispatchTiling* tiling) {
    const Geometry g = geometry(call);
    *tiling = DispatchTiling{};
    tiling->common = common_tiling(limits, machine, OperationKind::kDispatch);
    set_geometry(g, call.x.dtype, call.quant_mode, &tiling->common);
    tiling->x = addresses.x;
    tiling->expert_ids = addresses.expert_ids;
    tiling->expand_x = addresses.expand_x;
    tiling->assist_info = addresses.assist_info;
    tiling->ep_recv_counts = addresses.ep_recv_counts;
    tiling->expert_token_nums = addresses.expert_token_nums;
    tiling->capacity_rows = static_cast<uint32_t>(g.capacity_rows);
    tiling->assist_trailer_offset = assist_trailer_offset(tiling->capacity_rows);
    tiling->expert_token_nums_type = static_cast<uint32_t>(call.expert_token_nums_type);
    set_dispatch_roles(limits, machine.num_cores, tiling);
}

void make_combine_tiling(const CommunicatorLimits& limits, const Machine& machine, CombineEngine engine,
                         const CombineCall& call, const CombineAddresses& addresses, CombineTiling* tiling) {
    const Geometry g = geometry(call);
    *tiling = CombineTiling{};
    tiling->common = common_tiling(limits, machine, OperationKind::kCombine);
    set_geometry(g, call.expand_x.dtype, call.comm_quant_mode, &tiling->common);
    tiling->expand_x = addresses.expand_x;
    tiling->expert_ids = addresses.expert_ids;
    tiling->assist_info = addresses.assist_info;
    tiling->ep_send_counts = addresses.ep_send_counts;
    tiling->expert_scales = has_expert_scales(call) ? addresses.expert_scales : 0;
    tiling->x_out = addresses.x_out;
    tiling->capacity_rows = static_cast<uint32_t>(g.capacity_rows);
    tiling->assist_trailer_offset = assist_trailer_offset(tiling->capacity_rows);
    tiling->dtype = static_cast<uint32_t>(call.expand_x.dtype);
    set_combine_roles(machine.num_cores, engine, tiling);
}

void make_refusal_tiling(const CommunicatorLimits& limits, const Machine& machine, const Refusal& refusal,
                         DispatchTiling* tiling) {
    *tiling = DispatchTiling{};
    tiling->common = common_tiling(limits, machine, OperationKind::kDispatch);
    set_refused(limits, refusal, &tiling->common);
    set_dispatch_roles(limits, machine.num_cores, tiling);
}

void make_refusal_tiling(const CommunicatorLimits& limits, const Machine& machine, CombineEngine engine,
                         const Refusal& refusal, CombineTiling* tiling) {
    *tiling = CombineTiling{};
    tiling->common = common_tiling(limits, machine, OperationKind::kCombine);
    set_refused(limits, refusal, &tiling->common);
    set_combine_roles(machine.num_cores, engine, tiling);
}

}  // namespace ascend_deepep::op_host
