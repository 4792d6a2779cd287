// SPDX-License-Identifier: Apache-2.0
//
// Rows in UB that MTE2 fills and SIMT functions read, in turn: one comes while the other is worked on. Layer: quant.
#ifndef ASCEND_DEEPEP_QUANT_ROW_RING_H
#define ASCEND_DEEPEP_QUANT_ROW_RING_H

#include "protocol/context.h"

namespace ascend_deepep::kernel {

class RowRing {
  public:
    static constexpr uint32_t kNumRows = 2;

    __aicore__ inline void begin(CoreContext& ctx, uint32_t row_bytes) {
        row_bytes_ = static_cast<uint32_t>(align_up(row_bytes, kUnitBytes));
        ctx.pipe->InitBuffer(buffer_, kNumRows * row_bytes_);
    }

    // The events of the ring exist from here to close().
    __aicore__ inline void open(CoreContext& ctx) {
        next_ = 0;
        for (uint32_t row = 0; row < kNumRows; ++row) {
            is_free_[row] = static_cast<int32_t>(ctx.pipe->AllocEventID<AscendC::HardEvent::V_MTE2>());
            is_full_[row] = static_cast<int32_t>(ctx.pipe->AllocEventID<AscendC::HardEvent::MTE2_V>());
            AscendC::SetFlag<AscendC::HardEvent::V_MTE2>(is_free_[row]);
        }
    }

    // Takes the next row, for MTE2 to fill: what was in it has been read.
    __aicore__ inline AscendC::LocalTensor<uint8_t> acquire() {
        current_ = next_;
        next_ = (next_ + 1) % kNumRows;
        AscendC::WaitFlag<AscendC::HardEvent::V_MTE2>(is_free_[current_]);
        return row();
    }

    // What MTE2 was given so far is there for SIMT functions behind it.
    __aicore__ inline void fill_done() {
        AscendC::SetFlag<AscendC::HardEvent::MTE2_V>(is_full_[current_]);
        AscendC::WaitFlag<AscendC::HardEvent::MTE2_V>(is_full_[current_]);
    }

    __aicore__ inline AscendC::LocalTensor<uint8_t> row() { return buffer_.Get<uint8_t>()[current_ * row_bytes_]; }

    // The SIMT functions so far were the last ones to read the row.
    __aicore__ inline void release() { AscendC::SetFlag<AscendC::HardEvent::V_MTE2>(is_free_[current_]); }

    __aicore__ inline void close(CoreContext& ctx) {
        for (uint32_t row = 0; row < kNumRows; ++row) {
            AscendC::WaitFlag<AscendC::HardEvent::V_MTE2>(is_free_[row]);
            ctx.pipe->ReleaseEventID<AscendC::HardEvent::V_MTE2>(static_cast<AscendC::TEventID>(is_free_[row]));
            ctx.pipe->ReleaseEventID<AscendC::HardEvent::MTE2_V>(static_cast<AscendC::TEventID>(is_full_[row]));
        }
    }

  private:
    AscendC::TBuf<AscendC::TPosition::VECCALC> buffer_;
    uint32_t row_bytes_;
    uint32_t current_;
    uint32_t next_;
    int32_t is_free_[kNumRows];
    int32_t is_full_[kNumRows];
};

}  // namespace ascend_deepep::kernel

#endif  // ASCEND_DEEPEP_QUANT_ROW_RING_H
