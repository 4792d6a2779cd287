// SPDX-License-Identifier: Apache-2.0
//
// Tiling data of both operators. Layer: op_host. Numbers that bound UB stand here, with what they are spent on;
// all else is read off the contract.
#include "op_host/tiling.h"

#include <algorithm>

#include "op_host/check_rows.h"
#include "op_host/geometry.h"
#include "op_host/quant.h"

namespace ascend_deepep::op_host {
namespace {

// Shares of the kKernelUbBytes of UB a kernel has.
constexpr uint64_t kRouteCounterBytes = 128 * 1024;  // route: one counter per thread, expert and rank
constexpr uint64_t kReduceBytes = 150 * 1024;        // reduce: the tiles of a token's rows and their sum
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
    t.cycles_per_us = kCyclesPerMs / 1000;
    t.rank = machine.rank;
    t.num_ranks = limits.num_ranks;
    t.num_cores = machine.num_cores;
    t.simt_width = kSimtWidth;
    t.queues_per_peer = machine.queues_per_peer;
    t.combine_reduce = limits.combine_reduce;
    t.signature.kind = static_cast<uint32_t>(kind);
    t.signature.layout_abi = kLayoutAbi;
    t.window = window_layout(limits);
    for (Region& region : t.window.regions)
        region.offset += machine.window_offset;
    t.workspace_layout = workspace_layout(limits);
    return t;
}

void set_geometry(const Geometry& g, const CommonAttributes& attributes, CommonTiling* t) {
    t->local_experts = static_cast<uint32_t>(g.local_experts);
    t->experts_per_rank = static_cast<uint32_t>(g.experts_per_rank);
    t->first_expert = static_cast<uint32_t>(g.first_expert);
    t->num_tokens = static_cast<uint32_t>(g.num_tokens);
    t->hidden = static_cast<uint32_t>(g.hidden);
    t->num_topk = static_cast<uint32_t>(g.num_topk);
    t->num_experts = static_cast<uint32_t>(g.num_experts);
    t->shared_expert_num = static_cast<uint32_t>(g.shared_expert_num);
    t->shared_expert_rank_num = static_cast<uint32_t>(attributes.shared_expert_rank_num);
    t->shared_replicas = static_cast<uint32_t>(g.shared_replicas);
    t->num_columns = t->num_topk + t->shared_expert_num;
    CallSignature& s = t->signature;
    s.hidden = t->hidden;
    s.num_topk = t->num_topk;
    s.num_experts = t->num_experts;
    s.shared_expert_num = t->shared_expert_num;
    s.shared_expert_rank_num = t->shared_expert_rank_num;
    s.max_tokens = static_cast<uint32_t>(g.max_batch);
}

void set_mask(const TensorInfo& mask, uint64_t address, CommonTiling* t) {
    if (!is_given(mask)) return;
    t->mask = static_cast<uint32_t>(mask.shape.size() == 1 ? MaskKind::kTokens : MaskKind::kPairs);
    t->x_active_mask = address;
}

void set_performance(const TensorInfo& info, uint64_t address, CommonTiling* t) {
    if (is_given(info)) t->performance_info = address;
}

// A refused call has no geometry that could be trusted; the limits' own keeps every derived number meaningful.
void set_refused(const CommunicatorLimits& limits, const Refusal& refusal, CommonTiling* t) {
    t->is_refused = 1;
    t->refusal = refusal;
    t->local_experts = local_experts(limits);
    t->experts_per_rank = t->local_experts;
    t->hidden = limits.hidden;
    t->num_topk = limits.num_topk;
    t->num_columns = num_columns(limits);
    t->num_experts = limits.num_experts;
}

// Tiles of `blocks` blocks of 16-bit elements: one of each column, the sum, what is added to it, and for int8 rows the
// two that are being decoded.
uint64_t reduce_bytes(const CombineTiling& t, uint32_t blocks) {
    const uint64_t partials = t.common.combine_reduce;  // room for one that is summed here, beside its rows
    const uint64_t tiles = uint64_t{t.common.num_columns} + partials + (t.shared_expert_x != 0 ? 2 : 1);
    return (tiles * blocks + (t.is_int8 != 0 ? 2 * wire_tile_blocks(blocks) : 0)) * kBlockDataBytes;
}

// The most blocks, at most a row's, whose tiles fit.
uint32_t reduce_blocks(const CombineTiling& t) {
    uint32_t blocks = blocks_for(uint64_t{t.common.hidden} * kElementBytes);
    while (blocks > 1 && reduce_bytes(t, blocks) > kReduceBytes)
        --blocks;
    return blocks;
}

// Counters of one thread of the route role, without shared experts; with them it has no more.
uint64_t route_thread_bytes(uint32_t num_experts, uint32_t num_ranks) {
    return (uint64_t{num_experts} + num_ranks) * sizeof(uint32_t);
}

uint32_t scales_of(const DispatchCall& call) {
    if (!is_passed(call.scales)) return pack_scales(ScalesKind::kNone, Dtype{}, 0);
    const Dtype dtype = scales_element_dtype(call);
    const auto columns = static_cast<uint32_t>(extent(call.scales, 1));
    if (call.quant_mode == kQuantPass) return pack_scales(ScalesKind::kRows, dtype, columns);
    if (call.scales.shape.size() == 2) return pack_scales(ScalesKind::kExpert, dtype, 0);
    return pack_scales(num_elements(call.scales) == 1 ? ScalesKind::kScalar : ScalesKind::kChannel, dtype, 0);
}

void set_quant(const DispatchCall& call, const QuantPlan& plan, DispatchTiling* t) {
    CallSignature& s = t->common.signature;
    s.quant_mode = static_cast<uint32_t>(call.quant_mode);
    s.x_dtype = static_cast<uint32_t>(element_dtype(call));
    s.out_dtype = static_cast<uint32_t>(plan.expand_dtype);
    s.copy_mode = static_cast<uint32_t>(plan.copy_mode);
    s.scales = scales_of(call);
    // A rank without tokens has no weights either, and still agrees with the others that weights travel.
    const bool has_weights = is_passed(call.expert_scales);
    s.has_expert_scales = has_weights ? 1 : 0;
    t->quant = static_cast<uint32_t>(plan.quant);
    t->copy_mode = s.copy_mode;
    t->x_row_bytes = t->common.hidden * dtype_bytes(call.x.dtype);
    const bool has_factors = plan.quant != Quant::kNone && is_given(call.scales);
    if (has_factors) {
        const size_t dims = call.scales.shape.size();
        t->scale_rows = dims == 2 ? static_cast<uint32_t>(extent(call.scales, 0)) : 1;
        t->scale_columns = static_cast<uint32_t>(extent(call.scales, dims - 1));
    }
    t->token = token_layout(static_cast<uint32_t>(plan.payload_bytes), static_cast<uint32_t>(plan.scale_bytes),
                            t->common.num_columns, s.has_expert_scales * t->common.num_topk);
}

// Behind the triples, at the next whole unit. 128 words a row leave room for it from the first row on.
uint64_t assist_trailer_offset(uint64_t capacity_rows) {
    constexpr uint64_t kUnitWords = kUnitBytes / sizeof(uint32_t);
    static_assert(chain_word(kTripleWords + kUnitWords - 1, 1) <= kAssistRowWords);
    return align_up(capacity_rows * kTripleWords, kUnitWords);
}

// What the call of this rank loads its roles with. The other ranks' calls may be larger or smaller.
RoleLoad role_load(const CommonTiling& t, uint32_t token_bytes, bool is_per_expert) {
    return {t.num_ranks, t.queues_per_peer, t.num_tokens, t.num_columns, t.local_experts, token_bytes, is_per_expert};
}

void set_dispatch_roles(const Machine& machine, DispatchTiling* t) {
    const bool is_per_expert = t->copy_mode == static_cast<uint32_t>(CopyMode::kPerExpert);
    const RoleLoad load = role_load(t->common, t->token.slot_bytes, is_per_expert);
    const DispatchRoles roles = dispatch_roles(machine.num_cores, load, machine.roles);
    t->stage = roles.stage;
    t->wqe_builder = roles.wqe_builder;
    t->doorbell = roles.doorbell;
    t->cumsum = roles.cumsum;
    t->route_width = route_width(t->common.num_tokens, t->common.num_experts, t->common.num_ranks);
    t->collect_batch = kCollectBatch;
}

void set_combine_roles(const Machine& machine, CombineEngine engine, CombineTiling* t) {
    t->row = row_layout(t->common.hidden, t->is_int8 != 0);
    const RoleLoad load = role_load(t->common, t->row.blocks * kBlockBytes, false);
    const CombineRoles roles = combine_roles(machine.num_cores, load, engine);
    t->engine = static_cast<uint32_t>(engine);
    t->control = roles.control;
    t->send = roles.send;
    t->doorbell = roles.doorbell;
    t->reduce_blocks = reduce_blocks(*t);
}

}  // namespace

bool has_expert_scales(const CombineCall& call) {
    return is_given(call.expert_scales);
}

UbShare route_ub(const DispatchTiling& tiling) {
    const CommonTiling& t = tiling.common;
    return {tiling.route_width * route_thread_bytes(t.num_experts, t.num_ranks), kRouteCounterBytes};
}

UbShare reduce_ub(const CombineTiling& tiling) {
    return {reduce_bytes(tiling, tiling.reduce_blocks), kReduceBytes};
}

uint32_t route_width(uint32_t num_tokens, uint32_t num_experts, uint32_t num_ranks) {
    const uint64_t most = kRouteCounterBytes / route_thread_bytes(num_experts, num_ranks);
    const uint64_t fit = std::clamp<uint64_t>(most, 1, kMaxRouteWidth);
    const uint64_t tokens = std::max(1U, num_tokens);
    const uint64_t tokens_each = ceil_div(tokens, std::min(fit, tokens));
    return static_cast<uint32_t>(ceil_div(tokens, tokens_each));
}

void make_dispatch_tiling(const CommunicatorLimits& limits, const Machine& machine, const DispatchCall& call,
                          const DispatchAddresses& addresses, DispatchTiling* tiling) {
    const Geometry g = geometry(call);
    *tiling = DispatchTiling{};
    tiling->common = common_tiling(limits, machine, OperationKind::kDispatch);
    set_geometry(g, call.attributes, &tiling->common);
    set_mask(call.x_active_mask, addresses.x_active_mask, &tiling->common);
    set_performance(call.performance_info, addresses.performance_info, &tiling->common);
    set_quant(call, quant_plan(call), tiling);
    tiling->x = addresses.x;
    tiling->expert_ids = addresses.expert_ids;
    tiling->scales = addresses.scales;
    tiling->expert_scales = addresses.expert_scales;
    tiling->expand_x = addresses.expand_x;
    tiling->dynamic_scales = addresses.dynamic_scales;
    tiling->expand_scales = addresses.expand_scales;
    tiling->assist_info = addresses.assist_info;
    tiling->ep_recv_counts = addresses.ep_recv_counts;
    tiling->expert_token_nums = addresses.expert_token_nums;
    tiling->capacity_rows = static_cast<uint32_t>(g.capacity_rows);
    tiling->assist_trailer_offset = assist_trailer_offset(tiling->capacity_rows);
    tiling->expert_token_nums_type = static_cast<uint32_t>(call.expert_token_nums_type);
    set_dispatch_roles(machine, tiling);
}

void make_combine_tiling(const CommunicatorLimits& limits, const Machine& machine, CombineEngine engine,
                         const CombineCall& call, const CombineAddresses& addresses, CombineTiling* tiling) {
    const Geometry g = geometry(call);
    *tiling = CombineTiling{};
    tiling->common = common_tiling(limits, machine, OperationKind::kCombine);
    set_geometry(g, call.attributes, &tiling->common);
    set_mask(call.x_active_mask, addresses.x_active_mask, &tiling->common);
    set_performance(call.performance_info, addresses.performance_info, &tiling->common);
    CallSignature& signature = tiling->common.signature;
    signature.quant_mode = static_cast<uint32_t>(call.comm_quant_mode);
    signature.x_dtype = signature.out_dtype = static_cast<uint32_t>(call.expand_x.dtype);
    tiling->expand_x = addresses.expand_x;
    tiling->expert_ids = addresses.expert_ids;
    tiling->assist_info = addresses.assist_info;
    tiling->ep_send_counts = addresses.ep_send_counts;
    tiling->expert_scales = has_expert_scales(call) ? addresses.expert_scales : 0;
    // What the sender weighs with. A rank without tokens has no expert_scales either, and weighs as the others do.
    const bool is_weighted = sums_by_rank(limits) && is_passed(call.expert_scales);
    signature.has_expert_scales = is_weighted ? 1 : 0;
    tiling->expand_scales = is_weighted ? addresses.expand_scales : 0;
    tiling->shared_expert_x = is_given(call.shared_expert_x) ? addresses.shared_expert_x : 0;
    tiling->x_out = addresses.x_out;
    tiling->capacity_rows = static_cast<uint32_t>(g.capacity_rows);
    tiling->assist_trailer_offset = assist_trailer_offset(tiling->capacity_rows);
    tiling->dtype = static_cast<uint32_t>(call.expand_x.dtype);
    tiling->is_int8 = call.comm_quant_mode != 0 ? 1 : 0;
    set_combine_roles(machine, engine, tiling);
}

void make_refusal_tiling(const CommunicatorLimits& limits, const Machine& machine, const Refusal& refusal,
                         DispatchTiling* tiling) {
    *tiling = DispatchTiling{};
    tiling->common = common_tiling(limits, machine, OperationKind::kDispatch);
    set_refused(limits, refusal, &tiling->common);
    tiling->token = widest_token_layout(limits);
    set_dispatch_roles(machine, tiling);
}

void make_refusal_tiling(const CommunicatorLimits& limits, const Machine& machine, CombineEngine engine,
                         const Refusal& refusal, CombineTiling* tiling) {
    *tiling = CombineTiling{};
    tiling->common = common_tiling(limits, machine, OperationKind::kCombine);
    set_refused(limits, refusal, &tiling->common);
    set_combine_roles(machine, engine, tiling);
}

}  // namespace ascend_deepep::op_host
