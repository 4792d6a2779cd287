// SPDX-License-Identifier: Apache-2.0
//
// Checks of what dispatch_v2 does to its rows: quant_mode, dtypes, scales. Layer: op_host.
// Table 1.4 of the operators' contract: each mode has its dtypes and its shapes of scales.
#include <algorithm>
#include <optional>

#include "contract/block.h"
#include "op_host/check.h"
#include "op_host/check_rows.h"
#include "op_host/quant.h"

namespace ascend_deepep::op_host {
namespace {

using Context = DispatchContext;

bool is_half_float(Dtype dtype) {
    return dtype == Dtype::kBf16 || dtype == Dtype::kFp16;
}
bool is_fp8(Dtype dtype) {
    return dtype == Dtype::kE4m3 || dtype == Dtype::kE5m2;
}
bool passes_fp8(const Context& c) {
    return c.call.quant_mode == kQuantPass && is_fp8(element_dtype(c.call));
}
bool has_scales(const Context& c) {
    return is_passed(c.call.scales);
}
int64_t code(Dtype dtype) {
    return static_cast<int64_t>(dtype);
}
int64_t code(Field field) {
    return static_cast<int64_t>(field);
}

// Numbers of torch_npu's for dtypes that a later release brings: hifloat8 and the two of four bits.
bool is_later_dtype(const std::optional<int64_t>& number) {
    return number == 290 || number == 296 || number == 297;
}
Finding later_dtype(const std::optional<int64_t>& number) {
    return {is_later_dtype(number), number.value_or(0), 0};
}

// Rows of scales by expert: shared experts first, where ranks serve them.
int64_t expert_rows(const Context& c) {
    return c.geometry.num_experts + (c.attributes.shared_expert_rank_num > 0 ? c.geometry.shared_expert_num : 0);
}

bool is_legal_y_dtype(int64_t quant_mode, Dtype x, Dtype y) {
    switch (quant_mode) {
        case kQuantPass:
            return y == x;
        case kQuantStatic:
            return y == Dtype::kInt8;
        case kQuantPerToken:
            return y == Dtype::kInt8 || is_fp8(y);
        default:
            return is_fp8(y);
    }
}

// As many columns of scales as the widest copy of the communicator has room for.
int64_t most_scale_columns(const Context& c) {
    const uint32_t weights = extent(c.call.expert_scales, 1) > 0 ? static_cast<uint32_t>(c.geometry.num_topk) : 0;
    const auto entries = static_cast<uint32_t>(c.geometry.num_topk + c.geometry.shared_expert_num);
    const TokenLayout bare = token_layout(static_cast<uint32_t>(c.geometry.hidden), 0, entries, weights);
    const int64_t room =
        int64_t{widest_token_layout(c.limits).blocks} * kBlockDataBytes - bare.header_bytes - bare.scale_offset;
    const int64_t columns = room / kUnitBytes * kUnitBytes / dtype_bytes(c.call.scales.dtype);
    return std::min(columns, c.geometry.hidden);
}

// In this order: the element type of x, then what y_dtype may be, then the scales.
constexpr CheckRow<Context> kDtypes[] = {
    {Field::kXDtype, Code::kNotImplemented, [](const Context& c) { return later_dtype(c.call.x_dtype); }},
    {Field::kYDtype, Code::kNotImplemented, [](const Context& c) { return later_dtype(c.call.y_dtype); }},
    {Field::kScalesDtype, Code::kNotImplemented, [](const Context& c) { return later_dtype(c.call.scales_dtype); }},
    // Bytes are elements of a type that x_dtype names; any other x has its own.
    {Field::kXDtype, Code::kMissing,
     [](const Context& c) -> Finding {
         return {c.call.x.dtype == Dtype::kUint8 && !c.call.x_dtype.has_value(), code(c.call.x.dtype), code(Field::kX)};
     }},
    {Field::kXDtype, Code::kBadDtype,
     [](const Context& c) -> Finding {
         if (!c.call.x_dtype.has_value()) return {false, 0, 0};
         const Dtype named = dtype_of_number(*c.call.x_dtype);
         const bool is_carrier = c.call.x.dtype == Dtype::kUint8;
         return {is_carrier ? !is_fp8(named) : named != c.call.x.dtype, *c.call.x_dtype,
                 is_carrier ? code(Dtype::kE4m3) : code(c.call.x.dtype)};
     }},
    {Field::kX, Code::kBadDtype,
     [](const Context& c) -> Finding {
         const Dtype dtype = element_dtype(c.call);
         return {c.call.quant_mode != kQuantPass && !is_half_float(dtype), code(dtype), code(Dtype::kBf16)};
     }},
    {Field::kYDtype, Code::kMissing,
     [](const Context& c) -> Finding {
         const bool is_needed = c.call.quant_mode >= kQuantPerGroup && c.call.quant_mode <= kQuantMx;
         return {is_needed && !c.call.y_dtype.has_value(), c.call.quant_mode, code(Field::kQuantMode)};
     }},
    {Field::kYDtype, Code::kBadDtype,
     [](const Context& c) -> Finding {
         if (!c.call.y_dtype.has_value() || c.call.quant_mode > kQuantMx) return {false, 0, 0};
         const Dtype named = dtype_of_number(*c.call.y_dtype);
         return {!is_legal_y_dtype(c.call.quant_mode, element_dtype(c.call), named), *c.call.y_dtype,
                 c.call.quant_mode};
     }},
};

constexpr CheckRow<Context> kScales[] = {
    {Field::kScales, Code::kMissing,
     [](const Context& c) -> Finding {
         const bool is_needed = c.call.quant_mode == kQuantStatic || passes_fp8(c);
         return {is_needed && !has_scales(c), c.call.quant_mode, code(Field::kQuantMode)};
     }},
    {Field::kScales, Code::kUnexpected,
     [](const Context& c) -> Finding {
         const int64_t mode = c.call.quant_mode;
         const bool takes_none = mode >= kQuantMx || (mode == kQuantPass && !passes_fp8(c));
         return {takes_none && has_scales(c), mode, code(Field::kQuantMode)};
     }},
    {Field::kScalesDtype, Code::kBadDtype,
     [](const Context& c) -> Finding {
         if (!c.call.scales_dtype.has_value() || !has_scales(c)) return {false, 0, 0};
         const Dtype named = dtype_of_number(*c.call.scales_dtype);
         const bool is_carrier = c.call.scales.dtype == Dtype::kUint8;
         return {is_carrier ? named != Dtype::kE8m0 : named != c.call.scales.dtype, *c.call.scales_dtype,
                 is_carrier ? code(Dtype::kE8m0) : code(c.call.scales.dtype)};
     }},
    {Field::kScales, Code::kBadDtype,
     [](const Context& c) -> Finding {
         const bool is_bad = has_scales(c) && c.call.quant_mode != kQuantPass && c.call.scales.dtype != Dtype::kFp32;
         return {is_bad, code(c.call.scales.dtype), code(Dtype::kFp32)};
     }},
    // A table without rows is not looked at as a tensor, and its dtype counts.
    {Field::kScales, Code::kBadDtype,
     [](const Context& c) -> Finding {
         const Dtype dtype = c.call.scales.dtype;
         const bool is_known = dtype == Dtype::kFp32 || dtype == Dtype::kE8m0 || dtype == Dtype::kUint8;
         return {has_scales(c) && !is_known, code(dtype), 0};
     }},
    // Bytes alone could be anything.
    {Field::kScalesDtype, Code::kMissing,
     [](const Context& c) -> Finding {
         const bool is_carrier = has_scales(c) && c.call.scales.dtype == Dtype::kUint8;
         return {is_carrier && !c.call.scales_dtype.has_value(), code(Dtype::kUint8), code(Field::kScales)};
     }},
    {Field::kScales, Code::kBadRankOfTensor,
     [](const Context& c) -> Finding {
         const auto dims = static_cast<int64_t>(c.call.scales.shape.size());
         return {has_scales(c) && c.call.quant_mode != kQuantStatic && dims != 2, dims, 2};
     }},
    // Static, one dimension: a factor for all, or one a channel.
    {Field::kScales, Code::kBadShape,
     [](const Context& c) -> Finding {
         const int64_t size = extent(c.call.scales, 0);
         const bool is_vector = has_scales(c) && c.call.quant_mode == kQuantStatic && c.call.scales.shape.size() == 1;
         return {is_vector && size != 1 && size != c.geometry.hidden, size, c.geometry.hidden};
     },
     0},
    {Field::kScales, Code::kBadShape,
     [](const Context& c) -> Finding {
         const bool is_table = has_scales(c) && c.call.scales.shape.size() == 2;
         const int64_t rows = passes_fp8(c) ? c.geometry.num_tokens : expert_rows(c);
         return {is_table && extent(c.call.scales, 0) != rows, extent(c.call.scales, 0), rows};
     },
     0},
    {Field::kScales, Code::kBadShape,
     [](const Context& c) -> Finding {
         const bool is_table = has_scales(c) && c.call.scales.shape.size() == 2 && !passes_fp8(c);
         return {is_table && extent(c.call.scales, 1) != c.geometry.hidden, extent(c.call.scales, 1),
                 c.geometry.hidden};
     },
     1},
    {Field::kScales, Code::kTooSmall,
     [](const Context& c) -> Finding {
         return {has_scales(c) && passes_fp8(c) && extent(c.call.scales, 1) < 1, extent(c.call.scales, 1), 1};
     },
     1},
    {Field::kScales, Code::kOutOfRange,
     [](const Context& c) -> Finding {
         if (!has_scales(c) || !passes_fp8(c)) return {false, 0, 0};
         return {extent(c.call.scales, 1) > most_scale_columns(c), extent(c.call.scales, 1), most_scale_columns(c)};
     },
     1},
};

constexpr CheckRow<Context> kRoom[] = {
    {Field::kCopyMode, Code::kTooSmall,
     [](const Context& c) -> Finding {
         const bool is_per_expert = quant_plan(c.call).copy_mode == CopyMode::kPerExpert;
         return {is_per_expert && c.limits.per_expert_copies == 0, 0, 1};
     }},
    {Field::kCombineReduce, Code::kUnexpected,
     [](const Context& c) -> Finding {
         const bool is_per_expert = quant_plan(c.call).copy_mode == CopyMode::kPerExpert;
         return {is_per_expert && sums_by_rank(c.limits), 0, code(Field::kCopyMode)};
     }},
};

constexpr CheckRow<Context> kLater[] = {
    {Field::kQuantMode, Code::kNotImplemented,
     [](const Context& c) -> Finding { return {c.call.quant_mode == kQuantMxClamp, c.call.quant_mode, 0}; }},
};

}  // namespace

Refusal check_quant(const DispatchContext& context) {
    Refusal refusal = run_rows(kDtypes, context);
    if (refusal.code == Code::kOk) refusal = run_rows(kScales, context);
    if (refusal.code == Code::kOk) refusal = run_rows(kRoom, context);
    if (refusal.code == Code::kOk) refusal = run_rows(kLater, context);
    return refusal;
}

}  // namespace ascend_deepep::op_host
