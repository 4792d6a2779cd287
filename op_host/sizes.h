// SPDX-License-Identifier: Apache-2.0
//
// Bytes a communicator needs, and the number that ranks compare to know that they agree on every offset.
// Layer: op_host. All in 64 bits: the largest window has more than 2^38 bytes.
#ifndef ASCEND_DEEPEP_OP_HOST_SIZES_H
#define ASCEND_DEEPEP_OP_HOST_SIZES_H

#include "contract/window_layout.h"

namespace ascend_deepep::op_host {

uint64_t required_window_bytes(const CommunicatorLimits& limits);
uint64_t workspace_bytes(const CommunicatorLimits& limits);

// FNV-1a over the layout ABI, the limits, every region and the sizes of the wire structures.
uint64_t layout_hash(const CommunicatorLimits& limits);

}  // namespace ascend_deepep::op_host

#endif  // ASCEND_DEEPEP_OP_HOST_SIZES_H
