// SPDX-License-Identifier: Apache-2.0
//
// Collect: takes token copies as they arrive and writes their rows, triples and weights in place. Layer: dispatch.
// All cores, last; work is handed out by a counter. Local copies are read from the send buffer directly.
#ifndef ASCEND_DEEPEP_DISPATCH_COLLECT_H
#define ASCEND_DEEPEP_DISPATCH_COLLECT_H

#include "dispatch/cumsum.h"

namespace ascend_deepep::kernel {

// What goes with a row, a unit of UB each: its triple, its weight, and its place in the chain of the copy's rows.
constexpr uint32_t kUnitWords = kUnitBytes / sizeof(uint32_t);
constexpr uint32_t kWeightAt = kUnitWords;
constexpr uint32_t kChainAt = 2 * kUnitWords;
constexpr uint32_t kRowRecordWords = 3 * kUnitWords;
constexpr uint32_t kWeightOne = 0x3F800000U;  // 1.0F

// UB of the collect role.
struct CollectBuffers {
    AscendC::TBuf<AscendC::TPosition::VECCALC> bases, info, copy, records;
    FlagReader flags;

    __aicore__ inline void begin(CoreContext& ctx, const DispatchTiling& tiling) {
        const uint32_t blocks = tiling.common.num_ranks * tiling.common.local_experts;
        const uint32_t info_bytes = tiling.common.num_ranks * kRecvInfoWords * static_cast<uint32_t>(sizeof(uint32_t));
        ctx.pipe->InitBuffer(bases, static_cast<uint32_t>(align_up(blocks * sizeof(uint32_t), kUnitBytes)));
        ctx.pipe->InitBuffer(info, static_cast<uint32_t>(align_up(info_bytes, kUnitBytes)));
        ctx.pipe->InitBuffer(copy, tiling.token.blocks * kBlockDataBytes);
        ctx.pipe->InitBuffer(records, kMaxColumns * kRowRecordWords * static_cast<uint32_t>(sizeof(uint32_t)));
        flags.begin(ctx, tiling.token.blocks);
        copy_in(bases.Get<uint8_t>(), workspace_region(ctx, WorkspaceRegion::kBlockBase),
                blocks * static_cast<uint32_t>(sizeof(uint32_t)));
        copy_in(info.Get<uint8_t>(), workspace_region(ctx, WorkspaceRegion::kRecvInfo), info_bytes);
        sync<AscendC::HardEvent::MTE2_S>();
    }
};

// A token copy: the n-th of `source`.
struct CopyPlace {
    uint32_t source;
    uint32_t n;
    GM_ADDR slot;
};

__aicore__ inline CopyPlace copy_place(const CoreContext& ctx, uint32_t source, uint32_t n) {
    const CommonTiling& common = *ctx.tiling;
    if (source == common.rank) return CopyPlace{source, n, send_slot(ctx, load(destinations_of(ctx, source) + n))};
    const uint64_t slot = uint64_t(source) * common.window.copies_per_source + n;
    return CopyPlace{source, n,
                     ctx.window + region_offset(ctx, dispatch_half(ctx.uses)) + slot * common.window.token_slot_bytes};
}

__aicore__ inline bool corrupt_copy(CoreContext& ctx, const CopyPlace& place, uint32_t got, uint32_t limit) {
    fail(ctx, Failure{Code::kCorruptBlock, Stage::kCollect, place.source, place.source, ctx.tag, place.n,
                      static_cast<int64_t>(got), static_cast<int64_t>(limit)});
    return false;
}

// The scales that came with the copy in UB, to `row` of theirs.
__aicore__ inline void copy_out_scales(const DispatchTiling& tiling, CollectBuffers& ub, uint64_t row) {
    const uint32_t bytes = tiling.token.scale_bytes;
    if (bytes == 0) return;
    copy_out((GM_ADDR)tiling.dynamic_scales + row * bytes, ub.copy.Get<uint8_t>()[tiling.token.scale_offset], bytes);
}

// Rows of the entries that a copy is for and whose expert is here, column ascending.
struct CopyRows {
    uint32_t column[kMaxColumns];
    uint32_t row[kMaxColumns];
    uint32_t count;
};

// Which rows stand before and behind the i-th: combine sums them where they are.
__aicore__ inline void write_chain(const DispatchTiling& tiling, const AscendC::LocalTensor<uint32_t>& record,
                                   const CopyRows& rows, uint32_t i) {
    record.SetValue(kChainAt, i + 1 < rows.count ? rows.row[i + 1] + 1 : 0);
    record.SetValue(kChainAt + 1, i != 0 ? rows.row[i - 1] + 1 : 0);
    sync<AscendC::HardEvent::S_MTE3>();
    copy_out((GM_ADDR)tiling.assist_info + chain_word(tiling.assist_trailer_offset, rows.row[i]) * sizeof(int32_t),
             record[kChainAt].ReinterpretCast<uint8_t>(), sizeof(RowChain));
}

// The entry of `column`, whose expert is here, to its row. `header`: word of the copy where its header begins.
__aicore__ inline void write_row(const DispatchTiling& tiling, CollectBuffers& ub, const CopyPlace& place,
                                 uint32_t header, uint32_t column, uint64_t row) {
    const CommonTiling& common = tiling.common;
    AscendC::LocalTensor<uint32_t> words = ub.copy.Get<uint32_t>();
    AscendC::LocalTensor<uint32_t> record = ub.records.Get<uint32_t>()[column * kRowRecordWords];
    record.SetValue(0, place.source);
    record.SetValue(1, token_of(words.GetValue(header + 1)));
    record.SetValue(2, column);
    const bool has_weights = common.signature.has_expert_scales != 0;
    if (has_weights) {
        const bool is_shared = column >= common.num_topk;
        record.SetValue(kWeightAt, is_shared ? kWeightOne : words.GetValue(header + 2 + common.num_columns + column));
    }
    sync<AscendC::HardEvent::S_MTE3>();
    copy_out((GM_ADDR)tiling.expand_x + row * tiling.token.payload_bytes, ub.copy.Get<uint8_t>(),
             tiling.token.payload_bytes);
    copy_out_scales(tiling, ub, row);
    copy_out((GM_ADDR)tiling.assist_info + row * kTripleWords * sizeof(int32_t), record.ReinterpretCast<uint8_t>(),
             kTripleWords * sizeof(int32_t));
    if (has_weights) {
        copy_out((GM_ADDR)tiling.expand_scales + row * sizeof(float), record[kWeightAt].ReinterpretCast<uint8_t>(),
                 sizeof(float));
    }
}

// Rows of the entries that the copy is for and whose expert is here. It is in UB, its blocks all of this operation.
__aicore__ inline bool scatter_copy(CoreContext& ctx, const DispatchTiling& tiling, CollectBuffers& ub,
                                    const CopyPlace& place) {
    const CommonTiling& common = tiling.common;
    AscendC::LocalTensor<uint32_t> words = ub.copy.Get<uint32_t>();
    const uint32_t header = tiling.token.header_offset / static_cast<uint32_t>(sizeof(uint32_t));
    const uint32_t first_word = words.GetValue(header);
    const uint32_t token = token_of(words.GetValue(header + 1));
    if (first_word != (place.source | (common.num_columns << 16)))
        return corrupt_copy(ctx, place, first_word, common.num_columns);
    const uint32_t num_tokens = ub.info.Get<uint32_t>().GetValue(place.source * kRecvInfoWords + 1);
    if (token >= num_tokens) return corrupt_copy(ctx, place, token, num_tokens);
    const uint32_t only = column_of(words.GetValue(header + 1));
    if (is_per_expert(tiling) ? only >= common.num_columns : only != kAllColumns)
        return corrupt_copy(ctx, place, only, common.num_columns);
    CopyRows rows{};
    for (uint32_t column = 0; column < common.num_columns; ++column) {
        if (only != kAllColumns && column != only) continue;
        const uint32_t entry = words.GetValue(header + 2 + column);
        const uint32_t local = entry_expert(entry) - common.first_expert;  // wraps below: then it is not here
        if (entry_expert(entry) == kNoExpert || local >= common.local_experts) continue;
        const uint32_t base = ub.bases.Get<uint32_t>().GetValue(local * common.num_ranks + place.source);
        const uint64_t row = uint64_t(base) + entry_ordinal(entry);
        if (row >= tiling.capacity_rows) {
            return corrupt_copy(ctx, place, static_cast<uint32_t>(row), tiling.capacity_rows);
        }
        rows.column[rows.count] = column;
        rows.row[rows.count++] = static_cast<uint32_t>(row);
    }
    for (uint32_t i = 0; i < rows.count; ++i) {
        write_row(tiling, ub, place, header, rows.column[i], rows.row[i]);
        if (!sums_by_rank(common)) continue;
        write_chain(tiling, ub.records.Get<uint32_t>()[rows.column[i] * kRowRecordWords], rows, i);
    }
    return true;
}

__aicore__ inline bool collect_copy(CoreContext& ctx, const DispatchTiling& tiling, CollectBuffers& ub,
                                    const CopyPlace& place) {
    const SourceWait timer(ctx);
    Wait wait(ctx, Stage::kCollect, place.source, ctx.tag);
    uint64_t seen = 0;
    while (!ub.flags.all_arrived(place.slot, tiling.token.blocks, ctx.tag, seen)) {
        if (!wait.go_on(seen)) return false;
    }
    timer.arrived(place.source);
    sync<AscendC::HardEvent::MTE3_MTE2>();                                 // the copy before has been written out
    read_blocks(ub.copy.Get<uint8_t>(), place.slot, tiling.token.blocks);  // ORDER P7: tags, then data
    sync<AscendC::HardEvent::MTE2_S>();
    sync<AscendC::HardEvent::MTE2_MTE3>();
    sync<AscendC::HardEvent::MTE3_S>();
    return scatter_copy(ctx, tiling, ub, place);
}

// Work items in order: sources from this rank on, batches of copies within a source. A cursor over them, since a core
// takes ascending items.
class WorkList {
  public:
    __aicore__ inline WorkList(const DispatchTiling& tiling, AscendC::LocalTensor<uint32_t> info)
        : tiling_(tiling), info_(info), offset_(0), items_before_(0) {}

    // Source and first copy of `item`; false when there is no such item.
    __aicore__ inline bool find(uint64_t item, uint32_t& source, uint32_t& first, uint32_t& last) {
        while (offset_ < tiling_.common.num_ranks) {
            source = (tiling_.common.rank + offset_) % tiling_.common.num_ranks;
            const uint32_t copies = info_.GetValue(source * kRecvInfoWords);
            const uint32_t items = static_cast<uint32_t>(ceil_div(copies, tiling_.collect_batch));
            if (item < items_before_ + items) {
                first = static_cast<uint32_t>(item - items_before_) * tiling_.collect_batch;
                last = first + tiling_.collect_batch < copies ? first + tiling_.collect_batch : copies;
                return true;
            }
            items_before_ += items;
            ++offset_;
        }
        return false;
    }

  private:
    const DispatchTiling& tiling_;
    AscendC::LocalTensor<uint32_t> info_;
    uint32_t offset_;
    uint64_t items_before_;
};

__aicore__ inline bool wait_placed(CoreContext& ctx, const DispatchTiling& tiling) {
    bool is_refused = false;
    if (!wait_seen(ctx, Stage::kPrefix, tiling.cumsum, is_refused) || is_refused) return false;
    for (uint32_t i = 0; i < tiling.cumsum.count; ++i) {
        uint32_t value = 0;
        if (!wait_flag(ctx, Stage::kPrefix, &ctx.page->cores[tiling.cumsum.first + i].placed, value)) return false;
    }
    return true;
}

__aicore__ inline void collect(CoreContext& ctx, const DispatchTiling& tiling) {
    // A refusal of this rank's own comes back with its own control message: `seen` says so.
    if (!wait_placed(ctx, tiling)) return;
    enter_stage(ctx, Stage::kCollect);
    CollectBuffers ub;
    ub.begin(ctx, tiling);
    WorkList work(tiling, ub.info.Get<uint32_t>());
    uint32_t source = 0, first = 0, last = 0;
    while (
        work.find(AscendC::AtomicAdd((__gm__ uint64_t*)&ctx.page->next_work.word, uint64_t(1)), source, first, last)) {
        for (uint32_t n = first; n < last; ++n) {
            if (!collect_copy(ctx, tiling, ub, copy_place(ctx, source, n))) return;
        }
    }
}

}  // namespace ascend_deepep::kernel

#endif  // ASCEND_DEEPEP_DISPATCH_COLLECT_H
