// SPDX-License-Identifier: Apache-2.0
//
// Buffers of a call as the addresses the tiling data hold. Layer: framework.
#include "framework/runtime/communicator.h"

namespace ascend_deepep {
namespace {

uint64_t address(const void* p) {
    return reinterpret_cast<uint64_t>(p);
}

}  // namespace

op_host::DispatchAddresses addresses(const DispatchBuffers& b) {
    return {.x = address(b.x),
            .expert_ids = address(b.expert_ids),
            .expand_x = address(b.expand_x),
            .assist_info = address(b.assist_info),
            .ep_recv_counts = address(b.ep_recv_counts),
            .expert_token_nums = address(b.expert_token_nums),
            .scales = address(b.scales),
            .x_active_mask = address(b.x_active_mask),
            .expert_scales = address(b.expert_scales),
            .performance_info = address(b.performance_info),
            .dynamic_scales = address(b.dynamic_scales),
            .expand_scales = address(b.expand_scales)};
}

op_host::CombineAddresses addresses(const CombineBuffers& b) {
    return {.expand_x = address(b.expand_x),
            .expert_ids = address(b.expert_ids),
            .assist_info = address(b.assist_info),
            .ep_send_counts = address(b.ep_send_counts),
            .expert_scales = address(b.expert_scales),
            .x_out = address(b.x_out),
            .x_active_mask = address(b.x_active_mask),
            .shared_expert_x = address(b.shared_expert_x),
            .performance_info = address(b.performance_info),
            .expand_scales = address(b.expand_scales)};
}

}  // namespace ascend_deepep
