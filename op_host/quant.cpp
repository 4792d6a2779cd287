// SPDX-License-Identifier: Apache-2.0
//
// The plan of a dispatch's rows. Layer: op_host.
#include "op_host/quant.h"

#include "contract/block.h"
#include "op_host/comm_alg.h"
#include "op_host/geometry.h"

namespace ascend_deepep::op_host {
namespace {

struct NumberRow {
    int64_t number;
    Dtype dtype;
};
// torch's ScalarType, then torch_npu's for types older torch lacks.
constexpr NumberRow kNumbers[] = {
    {0, Dtype::kUint8},
    {1, Dtype::kInt8},
    {2, Dtype::kInt16},
    {3, Dtype::kInt32},
    {4, Dtype::kInt64},
    {5, Dtype::kFp16},
    {6, Dtype::kFp32},
    {7, Dtype::kFp64},
    {11, Dtype::kBool},
    {15, Dtype::kBf16},
    {23, Dtype::kE5m2},
    {24, Dtype::kE4m3},
    {44, Dtype::kE8m0},
    {kNpuDtypes + 35, Dtype::kE5m2},
    {kNpuDtypes + 36, Dtype::kE4m3},
    {kNpuDtypes + 37, Dtype::kE8m0},
};

bool is_half_float(Dtype dtype) {
    return dtype == Dtype::kBf16 || dtype == Dtype::kFp16;
}

Dtype requested_dtype(const DispatchCall& call, Dtype otherwise) {
    return call.y_dtype.has_value() ? dtype_of_number(*call.y_dtype) : otherwise;
}

// Scales differ by expert: rows of (experts, hidden), so copies to different experts differ too.
bool has_scales_per_expert(const DispatchCall& call) {
    return call.quant_mode != kQuantPass && call.scales.shape.size() == 2;
}

void plan_pass(const DispatchCall& call, const Geometry& g, QuantPlan* plan) {
    plan->expand_dtype = element_dtype(call);
    plan->payload_bytes = size_product(g.hidden, dtype_bytes(plan->expand_dtype));
    if (!is_passed(call.scales)) return;
    plan->scale_dtype = call.scales.dtype;
    plan->scale_columns = extent(call.scales, 1);
    plan->scale_bytes = size_product(plan->scale_columns, dtype_bytes(call.scales.dtype));
}

void plan_scaled(const DispatchCall& call, const Geometry& g, QuantPlan* plan) {
    const bool is_int8 = call.quant_mode == kQuantStatic || call.quant_mode == kQuantPerToken;
    plan->expand_dtype = requested_dtype(call, is_int8 ? Dtype::kInt8 : Dtype::kE4m3);
    plan->payload_bytes = g.hidden;
    const bool is_e5m2 = plan->expand_dtype == Dtype::kE5m2;
    switch (call.quant_mode) {
        case kQuantStatic:
            plan->quant = Quant::kStaticInt8;
            break;
        case kQuantPerToken:
            plan->quant = plan->expand_dtype == Dtype::kInt8 ? Quant::kTokenInt8
                          : is_e5m2                          ? Quant::kTokenE5m2
                                                             : Quant::kTokenE4m3;
            plan->scale_bytes = sizeof(float);
            break;
        case kQuantPerGroup:
            plan->quant = is_e5m2 ? Quant::kGroupE5m2 : Quant::kGroupE4m3;
            plan->scale_columns =
                static_cast<int64_t>(ceil_div(static_cast<uint64_t>(g.hidden), uint64_t{kScaleGroup}));
            plan->scale_bytes = size_product(plan->scale_columns, sizeof(float));
            break;
        default:
            plan->quant = is_e5m2 ? Quant::kMxE5m2 : Quant::kMxE4m3;
            plan->scale_dtype = Dtype::kUint8;
            plan->scale_columns =
                2 * static_cast<int64_t>(ceil_div(static_cast<uint64_t>(g.hidden), uint64_t{2 * kMxGroup}));
            plan->scale_bytes = plan->scale_columns;
            break;
    }
}

}  // namespace

uint32_t dtype_bytes(Dtype dtype) {
    switch (dtype) {
        case Dtype::kInt8:
        case Dtype::kUint8:
        case Dtype::kBool:
        case Dtype::kE4m3:
        case Dtype::kE5m2:
        case Dtype::kE8m0:
            return 1;
        case Dtype::kFp32:
        case Dtype::kInt32:
            return 4;
        case Dtype::kInt64:
        case Dtype::kFp64:
            return 8;
        default:
            return 2;
    }
}

Dtype dtype_of_number(int64_t number) {
    for (const NumberRow& row : kNumbers) {
        if (row.number == number) return row.dtype;
    }
    return Dtype::kOther;
}

int64_t number_of_dtype(Dtype dtype) {
    for (const NumberRow& row : kNumbers) {
        if (row.dtype == dtype) return row.number;
    }
    return -1;
}

Dtype element_dtype(const DispatchCall& call) {
    const bool is_carrier = call.x.dtype == Dtype::kUint8 || call.x.dtype == Dtype::kInt8;
    return is_carrier && call.x_dtype.has_value() ? dtype_of_number(*call.x_dtype) : call.x.dtype;
}

Dtype scales_element_dtype(const DispatchCall& call) {
    const bool is_carrier = call.scales.dtype == Dtype::kUint8;
    return is_carrier && call.scales_dtype.has_value() ? dtype_of_number(*call.scales_dtype) : call.scales.dtype;
}

QuantPlan quant_plan(const DispatchCall& call) {
    const Geometry g = geometry(call);
    QuantPlan plan;
    if (call.quant_mode == kQuantPass || !is_half_float(call.x.dtype)) {
        plan_pass(call, g, &plan);
    } else {
        plan_scaled(call, g, &plan);
    }
    const bool is_forced = find_comm_alg(call.attributes.comm_alg)->copy_mode == CopyMode::kPerExpert;
    if (is_forced || has_scales_per_expert(call)) plan.copy_mode = CopyMode::kPerExpert;
    return plan;
}

}  // namespace ascend_deepep::op_host
