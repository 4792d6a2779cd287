// SPDX-License-Identifier: Apache-2.0
// The kernels module's one exported symbol.
// Layer: twin/kernels; compiled once per policy together with op_kernel/*.cpp.
#include "twin/runtime/kernel_table.h"

#define ASCEND_DEEPEP_TEXT_OF(name) #name
#define ASCEND_DEEPEP_TEXT(name) ASCEND_DEEPEP_TEXT_OF(name)

void dispatch_v2(uint8_t* tiling);  // op_kernel/dispatch_v2.cpp
void combine_v2(uint8_t* tiling);   // op_kernel/combine_v2.cpp

extern "C" __attribute__((visibility("default"))) const ascend_deepep::twin::KernelTable* ascend_deepep_kernel_table() {
    static constexpr ascend_deepep::twin::KernelTable kTable = {
        ascend_deepep::twin::kKernelTableAbi, ASCEND_DEEPEP_TEXT(ASCEND_DEEPEP_TWIN_POLICY), &dispatch_v2, &combine_v2};
    return &kTable;
}
