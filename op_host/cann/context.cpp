// SPDX-License-Identifier: Apache-2.0
//
// CANN's dtypes and shapes in op_host's terms. Layer: op_host/cann.
#include "op_host/cann/context.h"

#include "op_host/quant.h"

namespace ascend_deepep::cann {
namespace {

struct DtypeRow {
    ge::DataType type;
    Dtype dtype;
};
constexpr DtypeRow kDtypes[] = {
    {ge::DT_BF16, Dtype::kBf16},        {ge::DT_FLOAT16, Dtype::kFp16},       {ge::DT_FLOAT, Dtype::kFp32},
    {ge::DT_INT32, Dtype::kInt32},      {ge::DT_INT64, Dtype::kInt64},        {ge::DT_INT16, Dtype::kInt16},
    {ge::DT_INT8, Dtype::kInt8},        {ge::DT_UINT8, Dtype::kUint8},        {ge::DT_BOOL, Dtype::kBool},
    {ge::DT_DOUBLE, Dtype::kFp64},      {ge::DT_FLOAT8_E4M3FN, Dtype::kE4m3}, {ge::DT_FLOAT8_E5M2, Dtype::kE5m2},
    {ge::DT_FLOAT8_E8M0, Dtype::kE8m0},
};

// A dtype that op_host does not know goes by torch_npu's number, so a refusal names it as that of a later release or of
// none. Numbers too large to be CANN's are torch_npu's or nobody's, and stay what they are.
int64_t number_for_op_host(int64_t number) {
    for (const DtypeRow& row : kDtypes) {
        if (int64_t{row.type} == number) return op_host::number_of_dtype(row.dtype);
    }
    return number >= 0 && number < op_host::kNpuDtypes ? op_host::kNpuDtypes + number : number;
}

std::optional<int64_t> named_dtype(int64_t number) {
    return number == kNoDtype ? std::nullopt : std::optional(number_for_op_host(number));
}

}  // namespace

Dtype dtype_of(ge::DataType type) {
    for (const DtypeRow& row : kDtypes) {
        if (row.type == type) return row.dtype;
    }
    return Dtype::kOther;
}

ge::DataType cann_dtype(Dtype dtype) {
    for (const DtypeRow& row : kDtypes) {
        if (row.dtype == dtype) return row.type;
    }
    return ge::DT_UNDEFINED;
}

std::vector<int64_t> extents(const gert::Shape& shape) {
    std::vector<int64_t> sizes;
    for (size_t axis = 0; axis < shape.GetDimNum(); ++axis)
        sizes.push_back(shape.GetDim(axis));
    return sizes;
}

void take_dtype_attributes(DispatchArguments* arguments) {
    op_host::DispatchCall& call = arguments->call;
    call.y_dtype = named_dtype(arguments->y_dtype);
    call.x_dtype = named_dtype(arguments->x_dtype);
    call.scales_dtype = named_dtype(arguments->scales_dtype);
}

}  // namespace ascend_deepep::cann
