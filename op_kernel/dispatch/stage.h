// SPDX-License-Identifier: Apache-2.0
//
// Stage: writes each token once to the send buffer, in wire format; every WQE that carries it reads it there. Where
// copies differ by expert it writes each of them. Layer: dispatch. While route still works, payload blocks go ahead;
// when the table is there, their header blocks follow, and the tokens behind them go whole, so that they can be rung
// for.
#ifndef ASCEND_DEEPEP_DISPATCH_STAGE_H
#define ASCEND_DEEPEP_DISPATCH_STAGE_H

#include "dispatch/route.h"
#include "quant/quantiser.h"

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
    return (GM_ADDR)tiling.x + uint64_t(token) * tiling.x_row_bytes;
}

__aicore__ inline bool is_quantised(const DispatchTiling& tiling) {
    return tiling.quant != static_cast<uint32_t>(Quant::kNone);
}

// What lies between logical bytes `begin` and `end` of a copy, out of `bytes` at `offset` that come from `from`, to an
// image that begins at `begin`.
__aicore__ inline void fill_part(BlockImages& images, uint32_t begin, uint32_t end, uint32_t offset, GM_ADDR from,
                                 uint32_t bytes) {
    const uint32_t first = begin > offset ? begin : offset;
    const uint32_t last = end < offset + bytes ? end : offset + bytes;
    if (first < last) images.fill(first - begin, from + (first - offset), last - first);
}

// A row that travels as it is: logical bytes [begin, end) of its payload and scales.
__aicore__ inline void fill_row(const DispatchTiling& tiling, BlockImages& images, uint32_t begin, uint32_t end,
                                uint32_t token) {
    const TokenLayout& layout = tiling.token;
    fill_part(images, begin, end, 0, token_row(tiling, token), layout.payload_bytes);
    if (layout.scale_bytes == 0) return;
    GM_ADDR scales = (GM_ADDR)tiling.scales + uint64_t(token) * layout.scale_bytes;
    fill_part(images, begin, end, layout.scale_offset, scales, layout.scale_bytes);
}

// Publishes how many tokens of this core are staged, now and then and at the end, if there are none too.
class Frontier {
  public:
    __aicore__ inline explicit Frontier(CoreContext& ctx) : ctx_(ctx), staged_(0) {}

    __aicore__ inline void add_token() {
        ++staged_;
        if (staged_ % kStagePublishInterval == 0) publish_staged();
    }
    __aicore__ inline void publish_staged() {
        sync<AscendC::HardEvent::MTE3_S>();
        publish(ctx_, &ctx_.page->cores[ctx_.core].staged, staged_);  // ORDER P2: blocks, then the frontier
    }

  private:
    CoreContext& ctx_;
    uint32_t staged_;
};

// Tokens of this core: index, index + count, ... What comes before `first_whole` is staged in two parts.
struct StageSpan {
    uint32_t index;
    uint32_t first_whole;
};

__aicore__ inline bool is_routed(CoreContext& ctx) {
    uint32_t code = 0;
    return poll(ctx, &ctx.page->route.word, code);
}

// Blocks that hold nothing but payload and scales, of rows that travel as they are, until the routing table is there.
// Returns the first of this core's tokens without.
__aicore__ inline uint32_t stage_rows(CoreContext& ctx, const DispatchTiling& tiling, uint32_t index) {
    const uint32_t blocks = tiling.token.first_header_block;
    if (blocks == 0) return index;
    BlockImages images;
    images.begin(ctx, blocks, ctx.tag);
    uint32_t token = index;
    for (; token < tiling.common.num_tokens && !is_routed(ctx); token += tiling.stage.count) {
        images.acquire();
        fill_row(tiling, images, 0, blocks * kBlockDataBytes, token);
        images.put(send_slot(ctx, token));
    }
    images.end(ctx);
    return token;
}

// The same of payload and scales, quantised. The block where the header is to follow has no tag yet: it is not
// complete, and copies to this rank are read by the tags of their blocks.
__aicore__ inline uint32_t stage_quantised(CoreContext& ctx, const DispatchTiling& tiling, uint32_t index) {
    const TokenLayout& layout = tiling.token;
    const uint32_t blocks = blocks_for(layout.header_offset);
    BlockImages images;
    images.begin(ctx, blocks, ctx.tag);
    if (layout.first_header_block < blocks) images.stamp(layout.first_header_block, 0);
    Quantiser quantiser(tiling);
    quantiser.begin(ctx);
    uint32_t token = index;
    for (; token < tiling.common.num_tokens && !is_routed(ctx); token += tiling.stage.count) {
        images.acquire();
        quantiser.load(token_row(tiling, token));
        quantiser.quantise(images, 0);
        quantiser.release();
        images.put(send_slot(ctx, token));
    }
    quantiser.end(ctx);
    images.end(ctx);
    return token;
}

// What can be staged without the routing table, while there is none.
__aicore__ inline uint32_t stage_payload(CoreContext& ctx, const DispatchTiling& tiling, uint32_t index) {
    if (index >= tiling.common.num_tokens || is_routed(ctx)) return index;
    const uint32_t first_whole =
        is_quantised(tiling) ? stage_quantised(ctx, tiling, index) : stage_rows(ctx, tiling, index);
    reset_ub(ctx);
    return first_whole;
}

// The blocks with the header, and what of payload and scales is in front of it, of the tokens before `first_whole`.
__aicore__ inline void stage_headers(CoreContext& ctx, const DispatchTiling& tiling, const StageSpan& span,
                                     Frontier& frontier) {
    if (span.index == span.first_whole) return;
    const TokenLayout& layout = tiling.token;
    const uint32_t begin = layout.first_header_block * kBlockDataBytes;
    GM_ADDR headers = workspace_region(ctx, WorkspaceRegion::kHeaders);
    BlockImages images;
    images.begin(ctx, layout.blocks - layout.first_header_block, ctx.tag);
    for (uint32_t token = span.index; token < span.first_whole; token += tiling.stage.count) {
        GM_ADDR slot = send_slot(ctx, token) + layout.first_header_block * kBlockBytes;
        images.acquire();
        if (!is_quantised(tiling)) {
            fill_row(tiling, images, begin, layout.header_offset, token);
        } else if (begin < layout.header_offset) {
            images.fill_from_slot(0, slot, layout.header_offset - begin);  // this core has put it there
        }
        images.fill(layout.header_offset - begin, headers + uint64_t(token) * layout.header_bytes, layout.header_bytes);
        images.put(slot);
        frontier.add_token();
    }
    frontier.publish_staged();
    images.end(ctx);
    reset_ub(ctx);
}

// Row of the factors for an expert as header entries number it: rows of the shared ones come first.
__aicore__ inline uint32_t factor_row(const DispatchTiling& tiling, uint32_t expert) {
    const CommonTiling& common = tiling.common;
    if (tiling.scale_rows <= 1) return 0;
    if (expert >= common.num_experts) return expert - common.num_experts;
    return expert + (common.shared_expert_rank_num > 0 ? common.shared_expert_num : 0);
}

// Whole tokens, when the routing table is there: one copy, or where copies differ by expert one for each that the token
// goes to, in send slot (token, column), its column in its header.
class TokenStager {
  public:
    __aicore__ inline TokenStager(CoreContext& ctx, const DispatchTiling& tiling)
        : ctx_(ctx), tiling_(tiling), quantiser_(tiling) {}

    __aicore__ inline void begin() {
        images_.begin(ctx_, tiling_.token.blocks, ctx_.tag);
        if (is_per_expert(tiling_)) ctx_.pipe->InitBuffer(header_, tiling_.token.header_bytes);
        if (is_quantised(tiling_)) quantiser_.begin(ctx_);
    }

    __aicore__ inline void stage_token(uint32_t token) {
        if (is_quantised(tiling_)) quantiser_.load(token_row(tiling_, token));
        if (is_per_expert(tiling_)) {
            stage_copies(token);
        } else {
            fill_copy(token, 0);
            images_.put(send_slot(ctx_, token));
        }
        if (is_quantised(tiling_)) quantiser_.release();
    }

    __aicore__ inline void end() {
        if (is_quantised(tiling_)) quantiser_.end(ctx_);
        images_.end(ctx_);
    }

  private:
    static constexpr uint32_t kHeaderWords = sizeof(TokenHeader) / sizeof(uint32_t);

    __aicore__ inline GM_ADDR header_of(uint32_t token) {
        return workspace_region(ctx_, WorkspaceRegion::kHeaders) + uint64_t(token) * tiling_.token.header_bytes;
    }

    // Header, payload and scales to the next image.
    __aicore__ inline void fill_copy(uint32_t token, uint32_t factors) {
        images_.acquire();
        images_.fill(tiling_.token.header_offset, header_of(token), tiling_.token.header_bytes);
        if (is_quantised(tiling_)) {
            quantiser_.quantise(images_, factors);
        } else {
            fill_row(tiling_, images_, 0, tiling_.token.header_offset, token);
        }
    }

    __aicore__ inline void stage_copies(uint32_t token) {
        sync<AscendC::HardEvent::S_MTE2>();
        copy_in(header_.Get<uint8_t>(), header_of(token), tiling_.token.header_bytes);
        sync<AscendC::HardEvent::MTE2_S>();
        AscendC::LocalTensor<uint32_t> words = header_.Get<uint32_t>();
        for (uint32_t column = 0; column < tiling_.common.num_columns; ++column) {
            const uint32_t expert = entry_expert(words.GetValue(kHeaderWords + column));
            if (expert == kNoExpert) continue;
            fill_copy(token, factor_row(tiling_, expert));
            sync<AscendC::HardEvent::MTE2_S>();
            images_.set_word(tiling_.token.header_offset,
                             words.GetValue(0) | (uint64_t(pack_token(token, column)) << 32));
            sync<AscendC::HardEvent::S_MTE3>();
            images_.put(send_slot(ctx_, token * tiling_.common.num_columns + column));
        }
    }

    CoreContext& ctx_;
    const DispatchTiling& tiling_;
    BlockImages images_;
    Quantiser quantiser_;
    AscendC::TBuf<AscendC::TPosition::VECCALC> header_;
};

__aicore__ inline void stage_tokens(CoreContext& ctx, const DispatchTiling& tiling, uint32_t first,
                                    Frontier& frontier) {
    TokenStager stager(ctx, tiling);
    stager.begin();
    for (uint32_t token = first; token < tiling.common.num_tokens; token += tiling.stage.count) {
        stager.stage_token(token);
        frontier.add_token();
    }
    frontier.publish_staged();
    stager.end();
    reset_ub(ctx);
}

// Token t is dealt to stage core t % count. Copies that differ by expert need the table from the first byte on.
__aicore__ inline void stage(CoreContext& ctx, const DispatchTiling& tiling, uint32_t index) {
    enter_stage(ctx, Stage::kStage);
    const uint32_t first_whole = is_per_expert(tiling) ? index : stage_payload(ctx, tiling, index);
    if (!wait_route(ctx)) return;
    enter_stage(ctx, Stage::kStage);
    Frontier frontier(ctx);
    stage_headers(ctx, tiling, StageSpan{index, first_whole}, frontier);
    stage_tokens(ctx, tiling, first_whole, frontier);
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
