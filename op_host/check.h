// SPDX-License-Identifier: Apache-2.0
//
// Checks of a call before anything runs: dtypes, shapes, attributes, the communicator's limits. Layer: op_host.
// Illegal arguments are refused first, arguments of features that this release lacks last. docs/compatibility.md.
#ifndef ASCEND_DEEPEP_OP_HOST_CHECK_H
#define ASCEND_DEEPEP_OP_HOST_CHECK_H

#include "contract/window_layout.h"
#include "op_host/calls.h"
#include "op_host/status.h"

namespace ascend_deepep::op_host {

// Both return the first fault found, with its text in `message`. `shapes` (may be null) is filled when the call is
// good.
Status check_dispatch(const CommunicatorLimits& limits, uint32_t rank, const DispatchCall& call,
                      DispatchShapes* shapes);
Status check_combine(const CommunicatorLimits& limits, uint32_t rank, const CombineCall& call);

// Construction of a communicator. `num_cores` is the number to be used; `window_bytes` 0 means what the limits need.
Status check_limits(const CommunicatorLimits& limits, uint32_t num_cores, uint64_t window_bytes);
// Queues to every peer, which a rank chooses for itself.
Status check_queues_per_peer(uint32_t queues_per_peer);
// Entries of each queue, where the caller chooses them.
Status check_queue_depth(uint32_t queue_depth);

// kNotEqual naming the first limit in which rank `rank` differs from rank 0. Every rank that compares in rank order
// against rank 0 finds the same difference.
Status compare_limits(const CommunicatorLimits& rank0, const CommunicatorLimits& other, uint32_t rank);

// Shapes of the outputs. Needs no communicator, so shape inference uses it too; a call that no check would pass gives
// some shapes, never a fault.
DispatchShapes dispatch_shapes(const DispatchCall& call);

}  // namespace ascend_deepep::op_host

#endif  // ASCEND_DEEPEP_OP_HOST_CHECK_H
