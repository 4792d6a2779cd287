// SPDX-License-Identifier: Apache-2.0
//
// Entry of operator CombineV2 in the custom operator package: inputs, output, workspace, tiling data, in the order of
// op_host/cann/arguments.cpp. Layer: op_kernel/package. Batch start of all cores is asked for by the tiling.
#include "combine/kernel.h"

extern "C" __global__ __aicore__ void combine_v2(GM_ADDR expand_x, GM_ADDR expert_ids, GM_ADDR assist_info,
                                                 GM_ADDR ep_send_counts, GM_ADDR expert_scales,
                                                 GM_ADDR /*tp_send_counts*/, GM_ADDR x_active_mask,
                                                 GM_ADDR expand_scales, GM_ADDR shared_expert_x,
                                                 GM_ADDR /*elastic_info*/, GM_ADDR /*ori_x*/,
                                                 GM_ADDR /*const_expert_alpha_1*/, GM_ADDR /*const_expert_alpha_2*/,
                                                 GM_ADDR /*const_expert_v*/, GM_ADDR performance_info, GM_ADDR x_out,
                                                 GM_ADDR /*workspace*/, GM_ADDR tiling_address) {
    REGISTER_TILING_DEFAULT(ascend_deepep::CombineTiling);
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    AscendC::TPipe pipe;
    ascend_deepep::CombineTiling tiling;
    ascend_deepep::kernel::load_struct(&tiling, tiling_address);
    // The tensors of a refused call have sizes that nobody checked, so the kernel does not get to see them.
    if (tiling.common.is_refused == 0) {
        tiling.expand_x = (uint64_t)expand_x;
        tiling.expert_ids = (uint64_t)expert_ids;
        tiling.assist_info = (uint64_t)assist_info;
        tiling.ep_send_counts = (uint64_t)ep_send_counts;
        // Zero in the tiling data means that the call has none; otherwise the host has put a mark there.
        if (tiling.expert_scales != 0) tiling.expert_scales = (uint64_t)expert_scales;
        if (tiling.expand_scales != 0) tiling.expand_scales = (uint64_t)expand_scales;
        if (tiling.shared_expert_x != 0) tiling.shared_expert_x = (uint64_t)shared_expert_x;
        if (tiling.common.x_active_mask != 0) tiling.common.x_active_mask = (uint64_t)x_active_mask;
        if (tiling.common.performance_info != 0) tiling.common.performance_info = (uint64_t)performance_info;
        tiling.x_out = (uint64_t)x_out;
    }
    ascend_deepep::kernel::run_combine(pipe, tiling);
}
