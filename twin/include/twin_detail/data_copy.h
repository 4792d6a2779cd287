// SPDX-License-Identifier: Apache-2.0
// DataCopy and DataCopyPad: parameters, their units and limits, and the copies themselves.
// Layer: twin/include. Checks happen when the call is made, bytes move when the pipe gets there.
#pragma once

#include "twin/runtime/copy_kernels.h"
#include "twin/runtime/poll.h"
#include "twin/runtime/polling.h"
#include "twin_detail/tpipe.h"

namespace ascend_deepep::twin {

// The pad value: T, or for the 16-bit float classes also a literal 0, which the device's builtin types accept.
template <typename T, bool = kIsFloat16<T>>
struct TwinPadValue {
    TwinPadValue(T pad) : value(pad) {}
    T value;
};
template <typename T>
struct TwinPadValue<T, true> {
    TwinPadValue(T pad) : value(pad) {}
    TwinPadValue(int pad) : value(static_cast<float>(pad)) {}
    T value;
};

}  // namespace ascend_deepep::twin

namespace AscendC {

// Lengths and gaps in 32 B blocks; a gap runs from the end of one block to the start of the next.
struct DataCopyParams {
    __aicore__ DataCopyParams() {}
    __aicore__ DataCopyParams(const uint16_t count, const uint16_t len, const uint16_t src, const uint16_t dst)
        : blockCount(count), blockLen(len), srcStride(src), dstStride(dst) {}
    uint16_t blockCount = 1;
    uint16_t blockLen = 0;
    union {
        uint16_t srcGap = 0;
        uint16_t srcStride;
    };
    union {
        uint16_t dstGap = 0;
        uint16_t dstStride;
    };
};

// blockLen in bytes; the stride on the GM side in bytes, the one on the UB side in 32 B blocks.
struct DataCopyExtParams {
    __aicore__ DataCopyExtParams() {}
    __aicore__ DataCopyExtParams(const uint16_t count, const uint32_t len, const int64_t src, const int64_t dst,
                                 const uint32_t reserved)
        : blockCount(count), blockLen(len), srcStride(src), dstStride(dst), rsv(reserved) {}
    uint16_t blockCount = 1;
    uint32_t blockLen = 0;
    int64_t srcStride = 0;
    int64_t dstStride = 0;
    uint32_t rsv = 0;
};

template <typename T>
struct DataCopyPadExtParams {
    static_assert(std::is_arithmetic_v<T> || ascend_deepep::twin::kIsFloat16<T>, "padding is a scalar");
    __aicore__ DataCopyPadExtParams() {}
    __aicore__ DataCopyPadExtParams(const bool isPadValue, const uint8_t leftPadValue, const uint8_t rightPadValue,
                                    ascend_deepep::twin::TwinPadValue<T> padValue)
        : isPad(isPadValue), leftPadding(leftPadValue), rightPadding(rightPadValue), paddingValue(padValue.value) {}
    bool isPad = false;
    uint8_t leftPadding = 0;
    uint8_t rightPadding = 0;
    T paddingValue = T{};
};

}  // namespace AscendC

namespace ascend_deepep::twin {

constexpr uint32_t kMaxCopyBlocks = 4095;
constexpr uint32_t kMaxPadBlockBytes = 2097151;

// One copy in bytes. Steps run from the start of one block to the start of the next.
struct CopyPlan {
    uint8_t* dst;
    const uint8_t* src;
    uint32_t blocks;
    uint32_t block_bytes;
    int64_t dst_step;
    int64_t src_step;

    // Bytes from the first to the last that the GM or UB side touches. No step is negative: require_strides.
    static uint64_t extent(int64_t step, uint32_t blocks, uint32_t bytes) {
        return static_cast<uint64_t>(step) * (blocks - 1) + bytes;
    }
};

inline void require_counts(const char* operation, uint64_t blocks, uint64_t length, uint64_t max_length) {
    require(blocks >= 1 && blocks <= kMaxCopyBlocks, rules::kCopyBlockCount, operation, blocks, kMaxCopyBlocks,
            "split the copy");
    require(length >= 1 && length <= max_length, rules::kCopyBlockLength, operation, length, max_length,
            "split the copy, or skip a copy of nothing");
}

// Checks the UB side of a copy, whose blocks take `room` bytes each.
[[gnu::always_inline]] inline void require_ub_side(const char* operation, const uint8_t* data, int64_t step,
                                                   uint32_t blocks, uint32_t room, const UbBuffer* buffer) {
    require_ub_aligned(operation, data);
    require_ub(operation, data, CopyPlan::extent(step, blocks, room), buffer);
}

template <typename T>
inline uint32_t whole_blocks(const char* operation, uint32_t count) {
    const uint64_t bytes = uint64_t{count} * sizeof(T);
    require(count > 0 && bytes % kUbBlockBytes == 0, rules::kCopyWholeUnits, operation, bytes, kUbBlockBytes,
            "use DataCopyPad for other sizes");
    require(bytes / kUbBlockBytes <= 0xffff, rules::kCopyMaxUnits, operation, bytes / kUbBlockBytes, 0xffff,
            "split the copy");
    return static_cast<uint32_t>(bytes);
}

template <typename T>
inline void require_gm_aligned(const char* operation, const void* p) {
    require(reinterpret_cast<uintptr_t>(p) % sizeof(T) == 0, rules::kGmAlignment, operation,
            reinterpret_cast<uintptr_t>(p) % sizeof(T), sizeof(T), "align the GM offset");
}

inline void copy_from_gm(const CopyPlan& plan) {
    Core& core = current_core();
    const Pieces pieces{plan.dst, plan.src, plan.dst_step, plan.src_step, plan.blocks, plan.block_bytes};
    if (core.windows.contains(plan.src)) {
        core.hooks->window_read_pieces(pieces);
        return;
    }
    if constexpr (!Policy::kChecksWords) {
        copy_kernels().read_pieces(pieces);
        return;
    }
    for (uint32_t i = 0; i < plan.blocks; ++i) {
        core.hooks->copied(plan.src + plan.src_step * i, plan.block_bytes, false);
        std::memcpy(plan.dst + plan.dst_step * i, plan.src + plan.src_step * i, plan.block_bytes);
    }
}

constexpr uint32_t kMinStreamedBytes = 2048;  // below it, the fence behind a streamed copy costs more than it saves

inline void store_row(const Core& core, uint8_t* dst, const uint8_t* src, uint32_t bytes) {
    if (core.writes_past_caches && bytes >= kMinStreamedBytes) {
        copy_kernels().stream(dst, src, bytes);
    } else {
        std::memcpy(dst, src, bytes);
    }
}

// Cores of fast mode share a thread. One that only copies would go on to the end of its role; after a slice it lets the
// others go on, as they would on a device, with what it has written still in the caches.
constexpr uint32_t kSliceBytes = 64 * 1024;

inline void end_slice(Core& core, uint64_t bytes) {
    core.slice_bytes += bytes;
    if (core.slice_bytes < kSliceBytes) return;
    core.slice_bytes = 0;
    poll_yield();
}

inline void copy_to_gm(const CopyPlan& plan) {
    Core& core = current_core();
    core.progress = true;
    for (uint32_t i = 0; i < plan.blocks; ++i) {
        uint8_t* dst = plan.dst + plan.dst_step * i;
        const uint8_t* src = plan.src + plan.src_step * i;
        if (core.windows.contains(dst)) {
            core.hooks->window_write(dst, src, plan.block_bytes);
        } else {
            if constexpr (Policy::kChecksWords) core.hooks->copied(dst, plan.block_bytes, true);
            store_row(core, dst, src, plan.block_bytes);
        }
    }
    if constexpr (!Policy::kDeferred) end_slice(core, uint64_t{plan.blocks} * plan.block_bytes);
}

inline void copy_in_ub(const CopyPlan& plan) {
    for (uint32_t i = 0; i < plan.blocks; ++i) {
        std::memmove(plan.dst + plan.dst_step * i, plan.src + plan.src_step * i, plan.block_bytes);
    }
}

// Blocks that follow each other on both sides are one.
inline CopyPlan merged(CopyPlan plan) {
    if (plan.dst_step == plan.block_bytes && plan.src_step == plan.block_bytes) {
        plan.block_bytes *= plan.blocks;
        plan.blocks = 1;
    }
    return plan;
}

// The GM side of a copy, from its lowest byte to its highest. Windows check what they are given, piece by piece.
[[gnu::always_inline]] inline void touch_gm_side(const char* operation, const uint8_t* data, int64_t step,
                                                 uint32_t blocks, uint32_t bytes, bool write) {
    Core& core = current_core();
    const bool in_window = core.windows.contains(data);
    require(blocks == 1 || core.windows.contains(data + step * (blocks - 1)) == in_window, rules::kWindowOrNot,
            operation, blocks, 1, "check address and strides");
    if (!in_window) {
        core.hooks->check_access(data, CopyPlan::extent(step, blocks, bytes), write);
    }
    if (!write) {
        note_look(operation, data, 0);
    }
}

inline CopyPlan plan_of(uint8_t* dst, const uint8_t* src, const AscendC::DataCopyParams& params) {
    require_counts("DataCopy", params.blockCount, params.blockLen, 0xffff);
    const uint32_t bytes = params.blockLen * kUbBlockBytes;
    return {dst,
            src,
            params.blockCount,
            bytes,
            int64_t{bytes} + int64_t{params.dstStride} * kUbBlockBytes,
            int64_t{bytes} + int64_t{params.srcStride} * kUbBlockBytes};
}

template <typename T>
inline void issue_load(const AscendC::LocalTensor<T>& dst, const AscendC::GlobalTensor<T>& src, const CopyPlan& plan) {
    require_gm_aligned<T>("DataCopy", plan.src);
    src.require_inside("DataCopy", 0, CopyPlan::extent(plan.src_step, plan.blocks, plan.block_bytes) / sizeof(T));
    require_ub_side("DataCopy", plan.dst, plan.dst_step, plan.blocks, plan.block_bytes, dst.twin_buffer());
    touch_gm_side("DataCopy", plan.src, plan.src_step, plan.blocks, plan.block_bytes, false);
    issue(Pipe::kMte2, [plan = merged(plan)] { copy_from_gm(plan); });
}

template <typename T>
inline void issue_store(const AscendC::GlobalTensor<T>& dst, const AscendC::LocalTensor<T>& src, const CopyPlan& plan) {
    require_gm_aligned<T>("DataCopy", plan.dst);
    dst.require_inside("DataCopy", 0, CopyPlan::extent(plan.dst_step, plan.blocks, plan.block_bytes) / sizeof(T));
    require_ub_side("DataCopy", plan.src, plan.src_step, plan.blocks, plan.block_bytes, src.twin_buffer());
    touch_gm_side("DataCopy", plan.dst, plan.dst_step, plan.blocks, plan.block_bytes, true);
    issue(Pipe::kMte3, [plan = merged(plan)] { copy_to_gm(plan); });
}

template <typename T>
inline void issue_move(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src, const CopyPlan& plan) {
    if (plan.blocks == 1) {
        require_apart("DataCopy", {plan.dst, plan.block_bytes}, {plan.src, plan.block_bytes}, true);
    }
    require_ub_side("DataCopy", plan.dst, plan.dst_step, plan.blocks, plan.block_bytes, dst.twin_buffer());
    require_ub_side("DataCopy", plan.src, plan.src_step, plan.blocks, plan.block_bytes, src.twin_buffer());
    issue(Pipe::kV, [plan] { copy_in_ub(plan); });
}

template <typename T>
uint8_t* gm_bytes(const AscendC::GlobalTensor<T>& tensor) {
    return reinterpret_cast<uint8_t*>(tensor.GetPhyAddr(0));
}

}  // namespace ascend_deepep::twin

namespace AscendC {

template <typename T>
__aicore__ inline void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const uint32_t count) {
    using namespace ascend_deepep::twin;
    const uint32_t bytes = whole_blocks<T>("DataCopy", count);
    issue_load(dst, src, {dst.twin_data(), gm_bytes(src), 1, bytes, 0, 0});
}
template <typename T>
__aicore__ inline void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t count) {
    using namespace ascend_deepep::twin;
    const uint32_t bytes = whole_blocks<T>("DataCopy", count);
    issue_store(dst, src, {gm_bytes(dst), src.twin_data(), 1, bytes, 0, 0});
}
template <typename T>
__aicore__ inline void DataCopy(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t count) {
    using namespace ascend_deepep::twin;
    const uint32_t bytes = whole_blocks<T>("DataCopy", count);
    issue_move(dst, src, {dst.twin_data(), src.twin_data(), 1, bytes, 0, 0});
}

template <typename T>
__aicore__ inline void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src,
                                const DataCopyParams& repeatParams) {
    using namespace ascend_deepep::twin;
    issue_load(dst, src, plan_of(dst.twin_data(), gm_bytes(src), repeatParams));
}
template <typename T>
__aicore__ inline void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src,
                                const DataCopyParams& repeatParams) {
    using namespace ascend_deepep::twin;
    issue_store(dst, src, plan_of(gm_bytes(dst), src.twin_data(), repeatParams));
}
template <typename T>
__aicore__ inline void DataCopy(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                                const DataCopyParams& repeatParams) {
    using namespace ascend_deepep::twin;
    issue_move(dst, src, plan_of(dst.twin_data(), src.twin_data(), repeatParams));
}

}  // namespace AscendC
