// SPDX-License-Identifier: Apache-2.0
//
// Entry of operator DispatchV2 in the custom operator package: inputs, outputs, workspace and tiling data, in the order
// of op_host/cann/arguments.cpp. Layer: op_kernel/package. Batch start of all cores is asked for by the tiling.
#include "dispatch/kernel.h"

extern "C" __global__ __aicore__ void dispatch_v2(GM_ADDR x, GM_ADDR expert_ids, GM_ADDR scales, GM_ADDR x_active_mask,
                                                  GM_ADDR expert_scales, GM_ADDR /*elastic_info*/,
                                                  GM_ADDR performance_info, GM_ADDR expand_x, GM_ADDR dynamic_scales,
                                                  GM_ADDR assist_info, GM_ADDR expert_token_nums,
                                                  GM_ADDR ep_recv_counts, GM_ADDR /*tp_recv_counts*/,
                                                  GM_ADDR expand_scales, GM_ADDR /*workspace*/,
                                                  GM_ADDR tiling_address) {
    REGISTER_TILING_DEFAULT(ascend_deepep::DispatchTiling);
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    AscendC::TPipe pipe;
    ascend_deepep::DispatchTiling tiling;
    ascend_deepep::kernel::load_struct(&tiling, tiling_address);
    // The outputs of a refused call have sizes that nobody checked, so the kernel does not get to see them.
    if (tiling.common.is_refused == 0) {
        tiling.x = (uint64_t)x;
        tiling.expert_ids = (uint64_t)expert_ids;
        tiling.scales = (uint64_t)scales;
        tiling.expert_scales = (uint64_t)expert_scales;
        tiling.expand_x = (uint64_t)expand_x;
        tiling.assist_info = (uint64_t)assist_info;
        tiling.expert_token_nums = (uint64_t)expert_token_nums;
        tiling.ep_recv_counts = (uint64_t)ep_recv_counts;
        tiling.dynamic_scales = (uint64_t)dynamic_scales;
        tiling.expand_scales = (uint64_t)expand_scales;
        // Zero in the tiling data means that the call has none; otherwise the host has put a mark there.
        if (tiling.common.x_active_mask != 0) tiling.common.x_active_mask = (uint64_t)x_active_mask;
        if (tiling.common.performance_info != 0) tiling.common.performance_info = (uint64_t)performance_info;
    }
    ascend_deepep::kernel::run_dispatch(pipe, tiling);
}
