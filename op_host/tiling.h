// SPDX-License-Identifier: Apache-2.0
//
// From a checked call to the tiling data of its kernel. Layer: op_host.
// The checks have run before: these functions compute and never refuse.
#ifndef ASCEND_DEEPEP_OP_HOST_TILING_H
#define ASCEND_DEEPEP_OP_HOST_TILING_H

#include "contract/tiling_data.h"
#include "op_host/calls.h"
#include "op_host/roles.h"

namespace ascend_deepep::op_host {

constexpr uint64_t kCyclesPerMs = 1'000'000;  // of GetSystemCycle, on every target

// The machine a kernel runs on. Addresses are as the kernels see them.
struct Machine {
    uint64_t window_table;
    uint64_t queue_table;
    uint64_t workspace;
    uint32_t rank;
    uint32_t num_cores;
    uint64_t timeout_cycles;
    uint64_t window_offset = 0;    // of the communicator's window, behind the addresses that the two tables hold
    uint32_t queues_per_peer = 1;  // as the queue table has them
    RoleCounts roles{};            // of dispatch, where the caller chose them
};

struct DispatchAddresses {
    uint64_t x, expert_ids, expand_x, assist_info, ep_recv_counts, expert_token_nums;
    // 0 where the call has none. The first three are inputs.
    uint64_t scales = 0, x_active_mask = 0, expert_scales = 0;
    uint64_t performance_info = 0, dynamic_scales = 0, expand_scales = 0;
};
struct CombineAddresses {
    uint64_t expand_x, expert_ids, assist_info, ep_send_counts, expert_scales, x_out;
    uint64_t x_active_mask = 0, shared_expert_x = 0, performance_info = 0;  // 0 where the call has none
    uint64_t expand_scales = 0;                                             // where rows are summed by rank
};

void make_dispatch_tiling(const CommunicatorLimits& limits, const Machine& machine, const DispatchCall& call,
                          const DispatchAddresses& addresses, DispatchTiling* tiling);
void make_combine_tiling(const CommunicatorLimits& limits, const Machine& machine, CombineEngine engine,
                         const CombineCall& call, const CombineAddresses& addresses, CombineTiling* tiling);

// Refuse mode: the kernel exchanges control messages that carry `refusal`, and moves nothing.
void make_refusal_tiling(const CommunicatorLimits& limits, const Machine& machine, const Refusal& refusal,
                         DispatchTiling* tiling);
void make_refusal_tiling(const CommunicatorLimits& limits, const Machine& machine, CombineEngine engine,
                         const Refusal& refusal, CombineTiling* tiling);

// False: combine sums without weights (an empty expert_scales).
bool has_expert_scales(const CombineCall& call);

// UB of the buffers whose size the shape of a call decides, and the share of kKernelUbBytes that they keep to. What a
// role has besides is the same for all shapes, or a few KiB.
struct UbShare {
    uint64_t bytes;
    uint64_t limit;
};
UbShare route_ub(const DispatchTiling& tiling);
UbShare reduce_ub(const CombineTiling& tiling);

// Threads of the route role: as many as their counters fit in UB, and none that would own no token.
uint32_t route_width(uint32_t num_tokens, uint32_t num_experts, uint32_t num_ranks);

}  // namespace ascend_deepep::op_host

#endif  // ASCEND_DEEPEP_OP_HOST_TILING_H
