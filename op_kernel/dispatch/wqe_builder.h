// SPDX-License-Identifier: Apache-2.0
//
// WQE builder: turns the copies of the queues it owns into WQEs and fills their rings as space comes free.
// Layer: dispatch. A full ring never holds up another one.
#ifndef ASCEND_DEEPEP_DISPATCH_WQE_BUILDER_H
#define ASCEND_DEEPEP_DISPATCH_WQE_BUILDER_H

#include "dispatch/stage.h"
#include "protocol/rule_h.h"
#include "protocol/urma_queue.h"

namespace ascend_deepep::kernel {

__aicore__ inline WindowRegion dispatch_half(uint64_t uses) {
    return uses % kNumHalves == 0 ? WindowRegion::kDispatchHalf0 : WindowRegion::kDispatchHalf1;
}

__aicore__ inline uint32_t copies_to(const CoreContext& ctx, uint32_t peer) {
    return load((__gm__ uint32_t*)workspace_region(ctx, WorkspaceRegion::kNumCopies) + peer);
}

__aicore__ inline __gm__ uint32_t* destinations_of(const CoreContext& ctx, uint32_t peer) {
    return (__gm__ uint32_t*)workspace_region(ctx, WorkspaceRegion::kDestinations) +
           uint64_t(peer) * ctx.tiling->window.copies_per_source;
}

__aicore__ inline uint32_t copies_of(const CoreContext& ctx, const QueueId& id) {
    return items_of_queue(ctx, id, copies_to(ctx, id.peer));
}

// As many WQEs for a queue as fit its ring and one batch. Returns how many are in the ring afterwards.
__aicore__ inline uint32_t build_some(CoreContext& ctx, const DispatchTiling& tiling, WqeWriter& writer,
                                      const QueueId& id, uint32_t built, uint32_t copies) {
    uint32_t count = free_wqes(ctx, id, built);
    if (count > copies - built) count = copies - built;
    if (count > kWqeBatch) count = kWqeBatch;
    if (count == 0) return built;
    AscendC::LocalTensor<uint8_t> slots = writer.slots().ReinterpretCast<uint8_t>();
    const uint32_t first = item_of_peer(ctx, id, built);
    const uint32_t words = item_of_peer(ctx, id, built + count - 1) - first + 1;
    copy_in(slots, (GM_ADDR)(destinations_of(ctx, id.peer) + first), words * static_cast<uint32_t>(sizeof(uint32_t)));
    sync<AscendC::HardEvent::MTE2_V>();
    const uint64_t area = region_offset(ctx, dispatch_half(ctx.uses));
    const uint32_t slot_bytes = ctx.tiling->window.token_slot_bytes;
    const WqeBatch batch{id,
                         (uint64_t)send_slot(ctx, 0),
                         area + uint64_t(ctx.tiling->rank) * ctx.tiling->window.copies_per_source * slot_bytes,
                         slot_bytes,
                         tiling.token.slot_bytes,
                         first,
                         ctx.tiling->queues_per_peer,
                         built,
                         count};
    writer.write(ctx, batch);
    return built + count;
}

__aicore__ inline void wqe_builder(CoreContext& ctx, const DispatchTiling& tiling, uint32_t index) {
    if (!wait_route(ctx) || !wait_rule_h(ctx, Stage::kWqeBuilder, tiling.cumsum)) return;
    enter_stage(ctx, Stage::kWqeBuilder);
    const uint32_t num_queues = owned_queues(ctx, index, tiling.wqe_builder.count);
    AscendC::TBuf<AscendC::TPosition::VECCALC> buffer;
    ctx.pipe->InitBuffer(buffer, static_cast<uint32_t>(align_up((num_queues + 1) * sizeof(uint32_t), kUnitBytes)));
    AscendC::LocalTensor<uint32_t> built = buffer.Get<uint32_t>();
    for (uint32_t j = 0; j < num_queues; ++j)
        built.SetValue(j, 0U);
    WqeWriter writer;
    writer.begin(ctx);
    Wait wait(ctx, Stage::kWqeBuilder, ctx.tiling->rank, 0);
    uint32_t full = 0;  // a peer whose ring had no space
    bool has_moved = true;
    while (full != kMaxRanks) {
        if (!has_moved && !wait.go_on_for(full, 0)) return;
        full = kMaxRanks;
        has_moved = false;
        for (uint32_t j = 0; j < num_queues; ++j) {
            const QueueId id = owned_queue(ctx, index, tiling.wqe_builder.count, j);
            const uint32_t copies = copies_of(ctx, id);
            const uint32_t before = built.GetValue(j);
            if (before == copies) continue;
            const uint32_t after = build_some(ctx, tiling, writer, id, before, copies);
            built.SetValue(j, after);
            has_moved = has_moved || after != before;
            if (after != copies) full = id.peer;
        }
    }
    reset_ub(ctx);
}

}  // namespace ascend_deepep::kernel

#endif  // ASCEND_DEEPEP_DISPATCH_WQE_BUILDER_H
