// SPDX-License-Identifier: Apache-2.0
//
// Doorbell: rings for WQEs whose tokens are staged, and counts completions until the send buffer is free again.
// Layer: dispatch. docs/protocol.md, P4, P5, I5.
#ifndef ASCEND_DEEPEP_DISPATCH_DOORBELL_H
#define ASCEND_DEEPEP_DISPATCH_DOORBELL_H

#include "dispatch/wqe_builder.h"

namespace ascend_deepep::kernel {

// WQEs of a queue carry ascending send slots: those below the staged frontier may be rung.
class StagedGate {
  public:
    __aicore__ inline StagedGate(CoreContext& ctx, const DispatchTiling& tiling, uint32_t num_queues)
        : ctx_(ctx), tiling_(tiling), frontier_(0) {
        ctx.pipe->InitBuffer(buffer_, static_cast<uint32_t>(align_up((num_queues + 1) * sizeof(uint32_t), kUnitBytes)));
        for (uint32_t j = 0; j < num_queues; ++j)
            buffer_.Get<uint32_t>().SetValue(j, 0U);
    }

    __aicore__ inline uint32_t expected(const QueueId& id) const { return copies_of(ctx_, id); }

    __aicore__ inline void refresh() {
        if (frontier_ < num_slots()) frontier_ = staged_frontier(ctx_, tiling_);
    }

    __aicore__ inline uint32_t ready(const QueueId& id, uint32_t j, uint32_t built) {
        if (frontier_ == num_slots()) return built;
        AscendC::LocalTensor<uint32_t> cursors = buffer_.Get<uint32_t>();
        uint32_t cursor = cursors.GetValue(j);
        __gm__ uint32_t* slots = destinations_of(ctx_, id.peer);
        while (cursor < built && load(slots + item_of_peer(ctx_, id, cursor)) < frontier_)
            ++cursor;
        cursors.SetValue(j, cursor);
        return cursor;
    }

  private:
    __aicore__ inline uint32_t num_slots() const { return tiling_.common.num_tokens * slots_per_token(tiling_); }

    CoreContext& ctx_;
    const DispatchTiling& tiling_;
    uint32_t frontier_;
    AscendC::TBuf<AscendC::TPosition::VECCALC> buffer_;
};

__aicore__ inline void doorbell(CoreContext& ctx, const DispatchTiling& tiling, uint32_t index) {
    if (!wait_route(ctx)) return;
    enter_stage(ctx, Stage::kDoorbell);
    StagedGate gate(ctx, tiling, owned_queues(ctx, index, tiling.doorbell.count));
    serve_queues(ctx, index, tiling.doorbell.count, gate);
    reset_ub(ctx);
}

}  // namespace ascend_deepep::kernel

#endif  // ASCEND_DEEPEP_DISPATCH_DOORBELL_H
