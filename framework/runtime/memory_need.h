// SPDX-License-Identifier: Apache-2.0
//
// How much memory a communicator can come to use, compared with what is free before it is made. Layer: framework.
#ifndef ASCEND_DEEPEP_FRAMEWORK_RUNTIME_MEMORY_NEED_H
#define ASCEND_DEEPEP_FRAMEWORK_RUNTIME_MEMORY_NEED_H

#include "contract/tiling_data.h"

namespace ascend_deepep {

// Bytes of window and workspace that the ranks of a communicator touch on average when calls of the largest legal size
// follow each other: all ranks together touch num_ranks times this. Windows are sparse, so reserved bytes cost nothing.
// Rule: both halves of everything; of the dispatch halves, one slot for each token and *other* rank it can go to (at
// most one per column); staging only for the URMA engine. `entries_per_peer`: of all queues to a peer.
uint64_t touched_bytes_per_rank(const CommunicatorLimits& limits, CombineEngine engine, uint32_t entries_per_peer);

}  // namespace ascend_deepep

#endif  // ASCEND_DEEPEP_FRAMEWORK_RUNTIME_MEMORY_NEED_H
