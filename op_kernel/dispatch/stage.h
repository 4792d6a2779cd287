// SPDX-License-Identifier: Apache-2.0
//
// Stage: writes each token once to the send buffer, in wire format; every WQE that carries it reads it there. Where
// copies differ by expert it writes each of them. Layer: dispatch. Payload blocks go first, while route still works;
// header blocks when the table is there.
#ifndef ASCEND_DEEPEP_DISPATCH_STAGE_H
#define ASCEND_DEEPEP_DISPATCH_STAGE_H

#include "dispatch/route.h"
#include "protocol/put_block.h"

namespace ascend_deepep::kernel {

constexpr uint32_t kStagePublishInterval = 4;  // tokens between two updates of the frontier

__aicore__ inline GM_ADDR send_slot(const CoreContext& ctx, uint32_t slot) {
    return ctx.window + region_offset(ctx, WindowRegion::kSendBuffer) +
           uint64_t(slot) * ctx.tiling->window.token_slot_bytes;
}

__aicore__ inline bool is_per_expert(const DispatchTiling& tiling) {
    return tiling.copy_mode == static_cast<uint32_t>(CopyMode::kPerExpert);
}

// Send slots of a token.
__aicore__ inline uint32_t slots_per_token(const DispatchTiling& tiling) {
    return is_per_expert(tiling) ? tiling.common.num_columns : 1;
}

__aicore__ inline GM_ADDR token_row(const DispatchTiling& tiling, uint32_t token) {
    return (GM_ADDR)tiling.x + uint64_t(token) * tiling.token.payload_bytes;
}

// Blocks that hold nothing but payload.
__aicore__ inline void stage_payload(CoreContext& ctx, const DispatchTiling& tiling, uint32_t index) {
    const uint32_t blocks = tiling.token.first_header_block;
    if (blocks == 0 || index >= tiling.common.num_tokens) return;
    BlockImages images;
    images.begin(ctx, blocks, ctx.tag);
    for (uint32_t token = index; token < tiling.common.num_tokens; token += tiling.stage.count) {
        images.acquire();
        images.fill(0, token_row(tiling, token), blocks * kBlockDataBytes);
        images.put(send_slot(ctx, token));
    }
    images.end(ctx);
    reset_ub(ctx);
}

// The blocks with the header, and the payload bytes in front of it.
__aicore__ inline void stage_headers(CoreContext& ctx, const DispatchTiling& tiling, uint32_t index) {
    const TokenLayout& layout = tiling.token;
    const uint32_t payload_done = layout.first_header_block * kBlockDataBytes;
    GM_ADDR headers = workspace_region(ctx, WorkspaceRegion::kHeaders);
    BlockImages images;
    images.begin(ctx, layout.blocks - layout.first_header_block, ctx.tag);
    uint32_t staged = 0;
    for (uint32_t token = index; token < tiling.common.num_tokens; token += tiling.stage.count) {
        images.acquire();
        if (payload_done < layout.payload_bytes) {
            images.fill(0, token_row(tiling, token) + payload_done, layout.payload_bytes - payload_done);
        }
        images.fill(layout.header_offset - payload_done, headers + uint64_t(token) * layout.header_bytes,
                    layout.header_bytes);
        images.put(send_slot(ctx, token) + layout.first_header_block * kBlockBytes);
        ++staged;
        if (staged % kStagePublishInterval == 0) {
            sync<AscendC::HardEvent::MTE3_S>();
            publish(ctx, &ctx.page->cores[ctx.core].staged, staged);  // ORDER P2: blocks, then the frontier
        }
    }
    sync<AscendC::HardEvent::MTE3_S>();
    publish(ctx, &ctx.page->cores[ctx.core].staged, staged);  // ORDER P2
    images.end(ctx);
    reset_ub(ctx);
}

// Copies of a token, one for each expert it goes to: send slot (token, column), its column in its header.
__aicore__ inline void stage_token_copies(CoreContext& ctx, const DispatchTiling& tiling, BlockImages& images,
                                          uint32_t token) {
    const TokenLayout& layout = tiling.token;
    constexpr uint32_t kHeaderWords = sizeof(TokenHeader) / sizeof(uint32_t);
    GM_ADDR header = workspace_region(ctx, WorkspaceRegion::kHeaders) + uint64_t(token) * layout.header_bytes;
    __gm__ uint32_t* words = (__gm__ uint32_t*)header;
    for (uint32_t column = 0; column < tiling.common.num_columns; ++column) {
        if (entry_expert(load(words + kHeaderWords + column)) == kNoExpert) continue;
        images.acquire();
        images.fill(0, token_row(tiling, token), layout.payload_bytes);
        images.fill(layout.header_offset, header, layout.header_bytes);
        sync<AscendC::HardEvent::MTE2_S>();
        images.set_word(layout.header_offset, load(words) | (uint64_t(pack_token(token, column)) << 32));
        sync<AscendC::HardEvent::S_MTE3>();
        images.put(send_slot(ctx, token * tiling.common.num_columns + column));
    }
}

__aicore__ inline void stage_copies(CoreContext& ctx, const DispatchTiling& tiling, uint32_t index) {
    BlockImages images;
    images.begin(ctx, tiling.token.blocks, ctx.tag);
    uint32_t staged = 0;
    for (uint32_t token = index; token < tiling.common.num_tokens; token += tiling.stage.count) {
        stage_token_copies(ctx, tiling, images, token);
        ++staged;
        if (staged % kStagePublishInterval == 0) {
            sync<AscendC::HardEvent::MTE3_S>();
            publish(ctx, &ctx.page->cores[ctx.core].staged, staged);  // ORDER P2: blocks, then the frontier
        }
    }
    sync<AscendC::HardEvent::MTE3_S>();
    publish(ctx, &ctx.page->cores[ctx.core].staged, staged);  // ORDER P2
    images.end(ctx);
    reset_ub(ctx);
}

// Token t is dealt to stage core t % count. Copies that differ by expert need the table from the first byte on.
__aicore__ inline void stage(CoreContext& ctx, const DispatchTiling& tiling, uint32_t index) {
    enter_stage(ctx, Stage::kStage);
    if (!is_per_expert(tiling)) stage_payload(ctx, tiling, index);
    if (!wait_route(ctx)) return;
    enter_stage(ctx, Stage::kStage);
    if (is_per_expert(tiling)) {
        stage_copies(ctx, tiling, index);
    } else {
        stage_headers(ctx, tiling, index);
    }
}

// The first send slot that is not staged: all before it are.
__aicore__ inline uint32_t staged_frontier(const CoreContext& ctx, const DispatchTiling& tiling) {
    uint32_t frontier = tiling.common.num_tokens;
    for (uint32_t index = 0; index < tiling.stage.count; ++index) {
        uint32_t staged = 0;
        poll(ctx, &ctx.page->cores[tiling.stage.first + index].staged, staged);
        const uint64_t next = index + uint64_t(staged) * tiling.stage.count;
        if (next < frontier) frontier = static_cast<uint32_t>(next);
    }
    return frontier * slots_per_token(tiling);
}

}  // namespace ascend_deepep::kernel

#endif  // ASCEND_DEEPEP_DISPATCH_STAGE_H
