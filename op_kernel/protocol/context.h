// SPDX-License-Identifier: Apache-2.0
//
// What every role of a core knows of the operation it is in. Layer: protocol. docs/protocol.md, "Words".
#ifndef ASCEND_DEEPEP_PROTOCOL_CONTEXT_H
#define ASCEND_DEEPEP_PROTOCOL_CONTEXT_H

#include "contract/tag.h"
#include "contract/tiling_data.h"
#include "protocol/memory.h"

namespace ascend_deepep::kernel {

struct CoreContext {
    const CommonTiling* tiling;
    AscendC::TPipe* pipe;
    GM_ADDR window;  // own
    __gm__ ControlPage* page;
    uint64_t tag;
    uint64_t sequence;
    uint64_t uses;          // of this kind, before this operation: picks the half
    uint64_t min_consumed;  // of this kind, as of the last operation
    uint64_t entry_cycle;
    uint64_t stage_cycle;  // when the current stage began
    uint32_t core;
    Stage stage;
    OperationKind kind;
    CallSignature signature;  // of this call, complete
    bool has_failed;
    uint64_t stage_cycles[kNumStages];
    AscendC::TBuf<AscendC::TPosition::VECCALC> scratch;  // one block: kept free for an abort message
};

__aicore__ inline GM_ADDR window_of(const CoreContext& ctx, uint32_t rank) {
    return (GM_ADDR)load((__gm__ uint64_t*)ctx.tiling->window_table + rank);
}

__aicore__ inline uint64_t region_offset(const CoreContext& ctx, WindowRegion region) {
    return ctx.tiling->window.regions[static_cast<uint32_t>(region)].offset;
}

__aicore__ inline GM_ADDR workspace_region(const CoreContext& ctx, WorkspaceRegion region) {
    return (GM_ADDR)(ctx.tiling->workspace) +
           ctx.tiling->workspace_layout.regions[static_cast<uint32_t>(region)].offset;
}

__aicore__ inline GM_ADDR refusal_cell(const CoreContext& ctx, uint32_t index) {
    return workspace_region(ctx, WorkspaceRegion::kRefusals) + index * kRefusalStride;
}

// Gives all of UB to the next role but the block that an abort message needs.
__aicore__ inline void reset_ub(CoreContext& ctx) {
    AscendC::PipeBarrier<PIPE_ALL>();
    ctx.pipe->Reset();
    ctx.pipe->InitBuffer(ctx.scratch, kBlockBytes);
}

// Books the time of the stage that ends and makes the new one readable from outside.
__aicore__ inline void enter_stage(CoreContext& ctx, Stage stage) {
    const uint64_t now = static_cast<uint64_t>(AscendC::GetSystemCycle());
    ctx.stage_cycles[static_cast<uint32_t>(ctx.stage)] += now - ctx.stage_cycle;
    ctx.stage_cycle = now;
    ctx.stage = stage;
    store(&ctx.page->cores[ctx.core].progress, pack_flag(ctx.tag, static_cast<uint32_t>(stage)));
}

__aicore__ inline void enter_operation(CoreContext& ctx, const CommonTiling& tiling, OperationKind kind,
                                       AscendC::TPipe* pipe) {
    ctx.tiling = &tiling;
    ctx.pipe = pipe;
    ctx.core = static_cast<uint32_t>(AscendC::GetBlockIdx());
    ctx.kind = kind;
    ctx.signature = tiling.signature;
    ctx.has_failed = false;
    ctx.stage = Stage::kEntry;
    ctx.entry_cycle = static_cast<uint64_t>(AscendC::GetSystemCycle());
    ctx.stage_cycle = ctx.entry_cycle;
    for (uint32_t i = 0; i < kNumStages; ++i)
        ctx.stage_cycles[i] = 0;
    ctx.window = window_of(ctx, tiling.rank);
    ctx.page = (__gm__ ControlPage*)(ctx.window + region_offset(ctx, WindowRegion::kControlPage));
    ctx.has_failed = load(&ctx.page->state.is_broken) != 0;
    ctx.sequence = load(&ctx.page->state.sequence);
    ctx.tag = make_tag(load(&ctx.page->state.tag_base), ctx.sequence);
    ctx.uses = load(&ctx.page->state.uses[kind_index(kind)]);
    ctx.min_consumed = load(&ctx.page->state.min_consumed[kind_index(kind)]);
    enter_stage(ctx, Stage::kEntry);
    reset_ub(ctx);
}

// Publishes a local flag of this operation. Whatever it publishes is in GM already: the caller's ORDER comment says
// how.
__aicore__ inline void publish(const CoreContext& ctx, __gm__ uint64_t* flag, uint32_t value) {
    store_barrier();
    store(flag, pack_flag(ctx.tag, value));
}

// True when the flag is of this operation; its value then is in `value`, which is 0 otherwise.
__aicore__ inline bool poll(const CoreContext& ctx, __gm__ uint64_t* flag, uint32_t& value) {
    const uint64_t word = load(flag);
    const bool is_current = flag_is_current(word, ctx.tag);
    value = is_current ? flag_value(word) : 0;
    return is_current;
}

// Index of this core within a range, or range.count when it is not in it.
__aicore__ inline uint32_t index_in(const CoreContext& ctx, const CoreRange& range) {
    const bool is_inside = ctx.core >= range.first && ctx.core < range.first + range.count;
    return is_inside ? ctx.core - range.first : range.count;
}

}  // namespace ascend_deepep::kernel

#endif  // ASCEND_DEEPEP_PROTOCOL_CONTEXT_H
