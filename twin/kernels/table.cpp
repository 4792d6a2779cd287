// SPDX-License-Identifier: Apache-2.0
// The kernels module's one exported symbol.
// Layer: twin/kernels; compiled once per policy. It holds the kernels themselves, as one translation unit: SIMT
// functions carry their launch bound in front of their code, and g++ 12 cannot link two units that share such a
// function.
#include "twin/runtime/kernel_table.h"

#include "combine_v2.cpp"
#include "dispatch_v2.cpp"

#define ASCEND_DEEPEP_TEXT_OF(name) #name
#define ASCEND_DEEPEP_TEXT(name) ASCEND_DEEPEP_TEXT_OF(name)

extern "C" __attribute__((visibility("default"))) const ascend_deepep::twin::KernelTable* ascend_deepep_kernel_table() {
    static constexpr ascend_deepep::twin::KernelTable kTable = {
        ascend_deepep::twin::kKernelTableAbi, ASCEND_DEEPEP_TEXT(ASCEND_DEEPEP_TWIN_POLICY), &dispatch_v2, &combine_v2};
    return &kTable;
}
