// SPDX-License-Identifier: Apache-2.0
//
// Rows of x on their way into images, by the family that the tiling names. Layer: quant.
#ifndef ASCEND_DEEPEP_QUANT_QUANTISER_H
#define ASCEND_DEEPEP_QUANT_QUANTISER_H

#include "protocol/put_block.h"
#include "quant/mx.h"
#include "quant/per_group.h"
#include "quant/per_token.h"
#include "quant/row_ring.h"
#include "quant/static_int8.h"

namespace ascend_deepep::kernel {

// A row, then as many images of it as are wanted: load(), quantise() for each, release().
class Quantiser {
  public:
    __aicore__ inline explicit Quantiser(const DispatchTiling& tiling)
        : tiling_(tiling), factor_row_(kNoRow), factor_bits_(0) {}

    __aicore__ inline void begin(CoreContext& ctx) {
        rows_.begin(ctx, tiling_.x_row_bytes);
        rows_.open(ctx);
        ctx.pipe->InitBuffer(factors_, has_factor_rows() ? factor_bytes() : kUnitBytes);
        ctx.pipe->InitBuffer(scratch_, kTokenScratchBytes);
        if (tiling_.scale_columns == 1) factor_bits_ = kernel::load((__gm__ uint32_t*)tiling_.scales);
    }

    __aicore__ inline void load(GM_ADDR row) { copy_in(rows_.acquire(), row, tiling_.x_row_bytes); }

    // Fills the current image of `images` with the loaded row, by row `factor_row` of the factors where there are any.
    __aicore__ inline void quantise(BlockImages& images, uint32_t factor_row) {
        if (has_factor_rows() && factor_row != factor_row_) {
            sync<AscendC::HardEvent::V_MTE2>();  // the factors before have been used
            copy_in(factors_.Get<uint8_t>(), (GM_ADDR)tiling_.scales + uint64_t(factor_row) * factor_bytes(),
                    factor_bytes());
            factor_row_ = factor_row;
        }
        rows_.fill_done();
        if (tiling_.common.signature.x_dtype == static_cast<uint32_t>(Dtype::kBf16)) {
            start<bfloat16_t>(images);
        } else {
            start<half>(images);
        }
        sync<AscendC::HardEvent::V_MTE3>();
    }

    __aicore__ inline void release() { rows_.release(); }
    __aicore__ inline void end(CoreContext& ctx) { rows_.close(ctx); }

  private:
    static constexpr uint32_t kNoRow = 0xFFFFFFFFU;

    __aicore__ inline bool has_factor_rows() const { return tiling_.scale_columns > 1; }
    __aicore__ inline uint32_t factor_bytes() const {
        return tiling_.common.hidden * static_cast<uint32_t>(sizeof(float));
    }

    template <typename T>
    __aicore__ inline void start(BlockImages& images) {
        switch (static_cast<Quant>(tiling_.quant)) {
            case Quant::kStaticInt8:
                return start_static<T>(images);
            case Quant::kTokenInt8:
                return start_token<T, Int8>(images);
            case Quant::kTokenE4m3:
                return start_token<T, E4m3>(images);
            case Quant::kTokenE5m2:
                return start_token<T, E5m2>(images);
            case Quant::kGroupE4m3:
                return start_groups<T, E4m3>(images);
            case Quant::kGroupE5m2:
                return start_groups<T, E5m2>(images);
            case Quant::kMxE4m3:
                return start_mx<T, E4m3>(images);
            default:
                return start_mx<T, E5m2>(images);
        }
    }

    template <typename T>
    __aicore__ inline void start_static(BlockImages& images) {
        if (has_factor_rows()) {
            asc_vf_call<quantise_by_row<T>>(width(), image(images), row(), factors(), tiling_.common.hidden);
        } else {
            asc_vf_call<quantise_by_scalar<T>>(width(), image(images), row(), factor_bits_, tiling_.common.hidden);
        }
    }
    template <typename T, typename Format>
    __aicore__ inline void start_token(BlockImages& images) {
        __ubuf__ uint32_t* largest = ub_pointer(scratch_.Get<uint32_t>());
        if (has_factor_rows()) {
            asc_vf_call<quantise_token<T, Format, true>>(width(), image(images), row(), factors(), largest,
                                                         tiling_.common.hidden, tiling_.token.scale_offset);
        } else {
            asc_vf_call<quantise_token<T, Format, false>>(width(), image(images), row(), factors(), largest,
                                                          tiling_.common.hidden, tiling_.token.scale_offset);
        }
    }
    template <typename T, typename Format>
    __aicore__ inline void start_groups(BlockImages& images) {
        if (has_factor_rows()) {
            asc_vf_call<quantise_groups<T, Format, true>>(width(), image(images), row(), factors(),
                                                          tiling_.common.hidden, tiling_.token.scale_offset);
        } else {
            asc_vf_call<quantise_groups<T, Format, false>>(width(), image(images), row(), factors(),
                                                           tiling_.common.hidden, tiling_.token.scale_offset);
        }
    }
    template <typename T, typename Format>
    __aicore__ inline void start_mx(BlockImages& images) {
        asc_vf_call<quantise_mx<T, Format>>(width(), image(images), row(), tiling_.common.hidden,
                                            tiling_.token.scale_offset);
    }

    __aicore__ inline dim3 width() const { return dim3(tiling_.common.simt_width); }
    static __aicore__ inline __ubuf__ uint8_t* image(BlockImages& images) { return ub_pointer(images.current()); }
    __aicore__ inline __ubuf__ uint4* row() { return (__ubuf__ uint4*)ub_pointer(rows_.row()); }
    __aicore__ inline __ubuf__ float2* factors() { return (__ubuf__ float2*)ub_pointer(factors_.Get<uint8_t>()); }

    const DispatchTiling& tiling_;
    RowRing rows_;
    AscendC::TBuf<AscendC::TPosition::VECCALC> factors_;
    AscendC::TBuf<AscendC::TPosition::VECCALC> scratch_;
    uint32_t factor_row_;   // in UB
    uint32_t factor_bits_;  // of the one factor of all elements
};

}  // namespace ascend_deepep::kernel

#endif  // ASCEND_DEEPEP_QUANT_QUANTISER_H
