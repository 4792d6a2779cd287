// SPDX-License-Identifier: Apache-2.0
//
// Geometry of a call, and the shapes of the dispatch outputs. Layer: op_host.
// Never faults: shape inference comes here before any check has passed.
#include "op_host/geometry.h"

#include <algorithm>
#include <limits>

#include "contract/tiling_data.h"
#include "op_host/check.h"
#include "op_host/quant.h"

namespace ascend_deepep::op_host {
namespace {

bool is_shared_rank(const CommonAttributes& a) {
    return a.ep_rank_id < a.shared_expert_rank_num;
}

// A: the most rows a rank can receive. Tables 1.2 and 1.5 of the operators' contract.
int64_t capacity(const CommonAttributes& a, int64_t max_batch, int64_t num_topk, bool is_elastic) {
    const int64_t moe_ranks = a.ep_world_size - a.shared_expert_rank_num;
    const int64_t local_experts = moe_ranks > 0 ? a.moe_expert_num / moe_ranks : 0;
    const int64_t copies = std::max<int64_t>(0, std::min(local_experts, num_topk));
    const int64_t moe_rows = size_product(size_product(max_batch, a.ep_world_size), copies);
    if (a.shared_expert_rank_num <= 0 || a.shared_expert_num <= 0) return moe_rows;
    const int64_t replicas = std::max<int64_t>(1, a.shared_expert_rank_num / a.shared_expert_num);
    const int64_t senders = (a.ep_world_size - 1) / replicas + 1;
    const int64_t shared_rows = size_product(max_batch, senders);
    if (is_elastic) return std::max(shared_rows, moe_rows);
    return is_shared_rank(a) ? shared_rows : moe_rows;
}

// No expert (0) where the rank is out of range; a number of experts beyond every limit stays a number.
int64_t first_expert(const CommonAttributes& a, const Geometry& g) {
    if (a.ep_rank_id < 0 || a.ep_rank_id >= a.ep_world_size) return 0;
    if (!is_shared_rank(a)) return size_product(a.ep_rank_id - a.shared_expert_rank_num, g.experts_per_rank);
    if (g.shared_replicas <= 0) return 0;
    int64_t expert = 0;
    const bool is_beyond = __builtin_add_overflow(a.moe_expert_num, a.ep_rank_id / g.shared_replicas, &expert);
    return is_beyond ? std::numeric_limits<int64_t>::max() : expert;
}

Geometry make_geometry(const CommonAttributes& a, int64_t num_tokens, int64_t hidden, int64_t num_topk,
                       bool is_elastic) {
    Geometry g;
    g.num_tokens = num_tokens;
    g.hidden = hidden;
    g.num_topk = num_topk;
    if (a.ep_world_size < 1 || a.shared_expert_rank_num < 0 || a.shared_expert_rank_num >= a.ep_world_size ||
        a.moe_expert_num < 0 || a.global_bs < 0 || num_tokens < 0) {
        return g;
    }
    g.num_ranks = a.ep_world_size;
    g.num_experts = a.moe_expert_num;
    g.experts_per_rank = a.moe_expert_num / (a.ep_world_size - a.shared_expert_rank_num);
    g.local_experts = is_shared_rank(a) ? 1 : g.experts_per_rank;
    g.max_batch = a.global_bs == 0 ? num_tokens : a.global_bs / a.ep_world_size;
    g.capacity_rows = capacity(a, g.max_batch, num_topk, is_elastic);
    const bool is_default_pair = a.shared_expert_num == 1 && a.shared_expert_rank_num == 0;
    g.shared_expert_num = is_default_pair ? 0 : a.shared_expert_num;
    if (g.shared_expert_num > 0) g.shared_replicas = a.shared_expert_rank_num / g.shared_expert_num;
    g.first_expert = first_expert(a, g);
    return g;
}

}  // namespace

int64_t size_product(int64_t a, int64_t b) {
    int64_t product = 0;
    return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<int64_t>::max() : product;
}

int64_t extent(const TensorInfo& tensor, size_t axis) {
    return axis < tensor.shape.size() ? tensor.shape[axis] : 0;
}

bool is_passed(const TensorInfo& tensor) {
    return num_elements(tensor) > 0 ? !tensor.shape.empty() : tensor.is_present && tensor.shape.size() == 2;
}

int64_t num_elements(const TensorInfo& tensor) {
    if (!tensor.is_present) return 0;
    int64_t count = 1;
    for (const int64_t size : tensor.shape)
        count = size_product(count, size);
    return count;
}

Geometry geometry(const DispatchCall& call) {
    return make_geometry(call.attributes, extent(call.x, 0), extent(call.x, 1), extent(call.expert_ids, 1),
                         call.elastic_info.is_present);
}

Geometry geometry(const CombineCall& call) {
    return make_geometry(call.attributes, extent(call.expert_ids, 0), extent(call.expand_x, 1),
                         extent(call.expert_ids, 1), call.elastic_info.is_present);
}

DispatchShapes dispatch_shapes(const DispatchCall& call) {
    const Geometry g = geometry(call);
    const int64_t num_counts = size_product(g.num_ranks, g.local_experts);
    DispatchShapes shapes;
    shapes.capacity_rows = g.capacity_rows;
    shapes.hidden = g.hidden;
    shapes.dynamic_scales = g.capacity_rows;
    const QuantPlan plan = quant_plan(call);
    shapes.expand_dtype = plan.expand_dtype;
    shapes.scale_columns = plan.scale_columns;
    shapes.scale_dtype = plan.scale_dtype;
    shapes.passes_scales = plan.quant == Quant::kNone && is_passed(call.scales);
    shapes.has_expert_scales = is_passed(call.expert_scales);
    shapes.assist_info =
        std::max(size_product(g.num_tokens, g.num_topk), size_product(kAssistRowWords, g.capacity_rows));
    shapes.expert_token_nums = g.local_experts;
    shapes.ep_recv_counts = num_counts;
    shapes.tp_recv_counts = call.attributes.tp_world_size;
    shapes.expand_scales = g.capacity_rows;
    return shapes;
}

}  // namespace ascend_deepep::op_host
