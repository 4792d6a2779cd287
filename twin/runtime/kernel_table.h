// SPDX-License-Identifier: Apache-2.0
// What a kernels module (fast or sim) offers the runtime that loads it.
// Layer: twin/runtime.
#pragma once

#include <cstdint>

namespace ascend_deepep::twin {

// Raised with every change of what kernels and runtime share: Core, GmHooks, SimtRunner, DeferredPipes, this table.
constexpr uint32_t kKernelTableAbi = 4;

struct KernelTable {
    uint32_t abi;        // kKernelTableAbi
    const char* policy;  // "Fast" or "Sim"
    void (*dispatch_v2)(uint8_t* tiling);
    void (*combine_v2)(uint8_t* tiling);
};

}  // namespace ascend_deepep::twin

extern "C" const ascend_deepep::twin::KernelTable* ascend_deepep_kernel_table();
