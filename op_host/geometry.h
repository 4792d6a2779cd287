// SPDX-License-Identifier: Apache-2.0
//
// The numbers of a call that checks, output shapes and tiling share. Layer: op_host.
#ifndef ASCEND_DEEPEP_OP_HOST_GEOMETRY_H
#define ASCEND_DEEPEP_OP_HOST_GEOMETRY_H

#include "op_host/calls.h"

namespace ascend_deepep::op_host {

struct Geometry {
    int64_t num_tokens = 0;
    int64_t hidden = 0;
    int64_t num_topk = 0;
    int64_t num_ranks = 0;
    int64_t num_experts = 0;
    int64_t local_experts = 0;      // of this rank; 1 on a rank that serves a shared expert
    int64_t experts_per_rank = 0;   // of a rank of routed experts
    int64_t first_expert = 0;       // of this rank; shared ones are numbered behind the routed
    int64_t shared_replicas = 0;    // ranks of one shared expert
    int64_t max_batch = 0;          // M: global_bs / ep_world_size, or num_tokens with global_bs = 0
    int64_t capacity_rows = 0;      // A
    int64_t shared_expert_num = 0;  // the pair (1, 0), torch_npu's default, means none
};

// Product of sizes; the largest int64 where the product is larger still.
int64_t size_product(int64_t a, int64_t b);

// Extent `axis` of a tensor, 0 where it has no such axis.
int64_t extent(const TensorInfo& tensor, size_t axis);
int64_t num_elements(const TensorInfo& tensor);

// There: with elements, or as a table that has no rows. Callers pass a tensor without dimensions or elements for
// "none".
bool is_passed(const TensorInfo& tensor);

Geometry geometry(const DispatchCall& call);
Geometry geometry(const CombineCall& call);

}  // namespace ascend_deepep::op_host

#endif  // ASCEND_DEEPEP_OP_HOST_GEOMETRY_H
