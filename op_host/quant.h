// SPDX-License-Identifier: Apache-2.0
//
// How a dispatch changes its rows: from quant_mode and dtypes to what the kernel does and what the outputs are.
// Layer: op_host. Table 1.4 of the operators' contract.
#ifndef ASCEND_DEEPEP_OP_HOST_QUANT_H
#define ASCEND_DEEPEP_OP_HOST_QUANT_H

#include "contract/tiling_data.h"
#include "op_host/calls.h"

namespace ascend_deepep::op_host {

constexpr int64_t kQuantPass = 0, kQuantStatic = 1, kQuantPerToken = 2, kQuantPerGroup = 3, kQuantMx = 4,
                  kQuantMxClamp = 5;

// dtypes as the integers that callers pass: torch's ScalarType, or torch_npu's own numbers from 290 on. kOther: a
// number that means no dtype of this library.
Dtype dtype_of_number(int64_t number);
int64_t number_of_dtype(Dtype dtype);  // torch's; -1 for kOther

// torch_npu's own numbers are this and CANN's.
constexpr int64_t kNpuDtypes = 256;

// The dtype the elements have: x_dtype says so where x is a carrier of bytes.
Dtype element_dtype(const DispatchCall& call);
Dtype scales_element_dtype(const DispatchCall& call);

// Of a call that may be illegal: a legal one has what its mode says, others the nearest.
struct QuantPlan {
    Quant quant = Quant::kNone;
    Dtype expand_dtype = Dtype::kBf16;  // of expand_x
    Dtype scale_dtype = Dtype::kFp32;   // of dynamic_scales; kUint8 carries e8m0
    int64_t scale_columns = 0;          // of dynamic_scales; 0: one dimension
    int64_t scale_bytes = 0;            // of a row on the wire; 0: no scales travel
    int64_t payload_bytes = 0;          // of a row on the wire
    CopyMode copy_mode = CopyMode::kPerRank;
};
QuantPlan quant_plan(const DispatchCall& call);

uint32_t dtype_bytes(Dtype dtype);

}  // namespace ascend_deepep::op_host

#endif  // ASCEND_DEEPEP_OP_HOST_QUANT_H
