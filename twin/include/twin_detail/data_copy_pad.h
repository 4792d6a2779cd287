// SPDX-License-Identifier: Apache-2.0
// DataCopyPad: copies in bytes, each block taking whole 32 B blocks in UB.
// Layer: twin/include. Without isPad the bytes behind a block are unspecified: untouched under Fast, junk under Sim.
#pragma once

#include "twin_detail/data_copy.h"

namespace ascend_deepep::twin {

struct PadPlan {
    uint32_t left_bytes;
    uint32_t room;         // bytes a block takes in UB, padding included
    uint32_t value_bytes;  // size of the element to pad with
    bool fills;            // write `value`, else junk
    uint64_t value;
};

inline void fill_pad(uint8_t* data, uint32_t bytes, const PadPlan& pad) {
    if (!pad.fills) {
        if constexpr (Policy::kDeferred) {
            std::memset(data, kUbPoison, bytes);
        }
        return;
    }
    for (uint32_t i = 0; i + pad.value_bytes <= bytes; i += pad.value_bytes) {
        std::memcpy(data + i, &pad.value, pad.value_bytes);
    }
}

inline void copy_from_gm_padded(const CopyPlan& plan, const PadPlan& pad) {
    copy_from_gm(plan);
    for (uint32_t i = 0; i < plan.blocks; ++i) {
        uint8_t* block = plan.dst + plan.dst_step * i;
        fill_pad(block - pad.left_bytes, pad.left_bytes, pad);
        fill_pad(block + plan.block_bytes, pad.room - pad.left_bytes - plan.block_bytes, pad);
    }
}

template <typename T>
inline PadPlan pad_plan_of(const AscendC::DataCopyExtParams& params, const AscendC::DataCopyPadExtParams<T>& pad) {
    const auto size = static_cast<uint32_t>(sizeof(T));
    const uint32_t left = pad.isPad ? pad.leftPadding * size : 0;
    const uint32_t right = pad.isPad ? pad.rightPadding * size : 0;
    require(left <= kUbBlockBytes && right <= kUbBlockBytes, rules::kPadSize, "DataCopyPad",
            left > right ? left : right, kUbBlockBytes, "pad fewer elements");
    PadPlan plan{left, round_up_to_block(left + params.blockLen + right), size, pad.isPad, 0};
    std::memcpy(&plan.value, &pad.paddingValue, size);
    require(!pad.isPad || size < 8 || plan.value == 0, rules::kPadValue, "DataCopyPad", plan.value, 0, "pad with 0");
    return plan;
}

inline void require_pad_params(const AscendC::DataCopyExtParams& params, size_t element_bytes) {
    require_counts("DataCopyPad", params.blockCount, params.blockLen, kMaxPadBlockBytes);
    require(params.blockLen % element_bytes == 0, rules::kCopyWholeElements, "DataCopyPad", params.blockLen,
            element_bytes, "give bytes, not elements");
}

constexpr int64_t kMaxUbStride = 65535;                   // blocks of 32 B
constexpr int64_t kMaxGmStride = (int64_t{1} << 40) - 1;  // bytes

// `lowest_gm` is what the GM side may go back: a load may read the same block again.
inline void require_strides(int64_t ub_stride, int64_t gm_stride, int64_t lowest_gm) {
    require(ub_stride >= 0 && ub_stride <= kMaxUbStride, rules::kCopyUbStride, "DataCopyPad",
            static_cast<uint64_t>(ub_stride), kMaxUbStride, "strides are gaps, from the end of a block to the next");
    require(gm_stride >= lowest_gm && gm_stride <= kMaxGmStride, rules::kCopyGmStride, "DataCopyPad",
            static_cast<uint64_t>(gm_stride), kMaxGmStride, "copy blocks in ascending order, or one by one");
}

}  // namespace ascend_deepep::twin

namespace AscendC {

template <typename T, PaddingMode mode = PaddingMode::Normal>
__aicore__ inline void DataCopyPad(const LocalTensor<T>& dst, const GlobalTensor<T>& src,
                                   const DataCopyExtParams& dataCopyParams, const DataCopyPadExtParams<T>& padParams) {
    static_assert(mode == PaddingMode::Normal, ASCEND_DEEPEP_PADDING_MODE);
    using namespace ascend_deepep::twin;
    require_pad_params(dataCopyParams, sizeof(T));
    require_strides(dataCopyParams.dstStride, dataCopyParams.srcStride, -int64_t{dataCopyParams.blockLen});
    const PadPlan pad = pad_plan_of(dataCopyParams, padParams);
    const int64_t ub_step = int64_t{pad.room} + dataCopyParams.dstStride * kUbBlockBytes;
    const CopyPlan plan{
        dst.twin_data() + pad.left_bytes, gm_bytes(src), dataCopyParams.blockCount,
        dataCopyParams.blockLen,          ub_step,       int64_t{dataCopyParams.blockLen} + dataCopyParams.srcStride};
    src.require_inside("DataCopyPad", 0, CopyPlan::extent(plan.src_step, plan.blocks, plan.block_bytes) / sizeof(T));
    require_ub_side("DataCopyPad", dst.twin_data(), ub_step, plan.blocks, pad.room, dst.twin_buffer());
    touch_gm_side("DataCopyPad", plan.src, plan.src_step, plan.blocks, plan.block_bytes, false);
    if (pad.room == plan.block_bytes) {
        issue(Pipe::kMte2, [plan = merged(plan)] { copy_from_gm(plan); });
    } else {
        issue(Pipe::kMte2, [plan, pad] { copy_from_gm_padded(plan, pad); });
    }
}

template <typename T, PaddingMode mode = PaddingMode::Normal>
__aicore__ inline void DataCopyPad(const GlobalTensor<T>& dst, const LocalTensor<T>& src,
                                   const DataCopyExtParams& dataCopyParams) {
    static_assert(mode == PaddingMode::Normal, ASCEND_DEEPEP_PADDING_MODE);
    using namespace ascend_deepep::twin;
    require_pad_params(dataCopyParams, sizeof(T));
    require_strides(dataCopyParams.srcStride, dataCopyParams.dstStride, 0);
    const uint32_t room = round_up_to_block(dataCopyParams.blockLen);
    const CopyPlan plan{gm_bytes(dst),
                        src.twin_data(),
                        dataCopyParams.blockCount,
                        dataCopyParams.blockLen,
                        int64_t{dataCopyParams.blockLen} + dataCopyParams.dstStride,
                        int64_t{room} + dataCopyParams.srcStride * kUbBlockBytes};
    dst.require_inside("DataCopyPad", 0, CopyPlan::extent(plan.dst_step, plan.blocks, plan.block_bytes) / sizeof(T));
    require_ub_side("DataCopyPad", plan.src, plan.src_step, plan.blocks, plan.block_bytes, src.twin_buffer());
    touch_gm_side("DataCopyPad", plan.dst, plan.dst_step, plan.blocks, plan.block_bytes, true);
    issue(Pipe::kMte3, [plan = merged(plan)] { copy_to_gm(plan); });
}

}  // namespace AscendC
