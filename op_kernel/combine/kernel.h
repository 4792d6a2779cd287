// SPDX-License-Identifier: Apache-2.0
//
// combine_v2, one core: which roles it plays, in which order. Layer: combine. docs/protocol.md, "Roles of combine".
#ifndef ASCEND_DEEPEP_COMBINE_KERNEL_H
#define ASCEND_DEEPEP_COMBINE_KERNEL_H

#include "combine/reduce.h"

namespace ascend_deepep::kernel {

__aicore__ inline void close_combine(CoreContext& ctx, const CombineTiling& tiling) {
    const uint64_t abort_word = final_abort(ctx);
    // After a failure the cells may be from another operation, or never written.
    const Refusal refusal = abort_word != 0 ? Refusal{} : final_refusal(ctx, 1 + tiling.control.count);
    if (abort_word == 0) keep_min_consumed(ctx, tiling.control);
    close_operation(ctx, refusal, abort_word, 0);
}

// `tiling` may come with addresses of its own: an operator package gets its tensors as arguments of the entry.
__aicore__ inline void run_combine(AscendC::TPipe& pipe, const CombineTiling& tiling) {
    CoreContext ctx;
    enter_operation(ctx, tiling.common, OperationKind::kCombine, &pipe);
    if (!ctx.has_failed && index_in(ctx, tiling.control) < tiling.control.count) control(ctx, tiling);
    if (!ctx.has_failed && tiling.common.is_refused == 0) {
        const uint32_t send_index = index_in(ctx, tiling.send);
        if (send_index < tiling.send.count) send(ctx, tiling, send_index);
        const uint32_t doorbell_index = index_in(ctx, tiling.doorbell);
        if (doorbell_index < tiling.doorbell.count) send_doorbell(ctx, tiling, doorbell_index);
        if (!ctx.has_failed && wait_validated(ctx)) {
            if (tiling.dtype == static_cast<uint32_t>(Dtype::kBf16)) {
                reduce<bfloat16_t>(ctx, tiling);
            } else {
                reduce<half>(ctx, tiling);
            }
        }
    }
    if (arrive(ctx)) close_combine(ctx, tiling);
    AscendC::PipeBarrier<PIPE_ALL>();
}

__aicore__ inline void run_combine(GM_ADDR tiling_address) {
    AscendC::TPipe pipe;
    CombineTiling tiling;
    load_struct(&tiling, tiling_address);
    run_combine(pipe, tiling);
}

}  // namespace ascend_deepep::kernel

#endif  // ASCEND_DEEPEP_COMBINE_KERNEL_H
