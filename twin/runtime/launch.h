// SPDX-License-Identifier: Apache-2.0
// Running a kernel on the twin: one fiber per AIV core on the calling thread.
// Layer: twin/runtime.
#pragma once

#include <cstddef>
#include <cstdint>

#include "twin/runtime/gm_hooks.h"
#include "twin/runtime/kernel_fault.h"
#include "twin/runtime/ub_layout.h"

namespace ascend_deepep::twin {

struct LaunchConfig {
    uint32_t num_cores = 1;
    uint32_t dyn_ubuf_bytes = kUbMaxDynamicBytes;
    const char* kernel_name = "kernel";
};

// Runs entry(tiling) on every core, round robin, until all have returned. Throws KernelFault when a kernel breaks a
// rule of the subset, and whatever a hook throws; the other cores are then abandoned where they stand.
void launch(const LaunchConfig& config, void (*entry)(uint8_t*), uint8_t* tiling, GmHooks& hooks);

// The same on the calling rank's cores of `scheduler`, which decides the order. Called on a fiber of the scheduler.
class Scheduler;
void launch_under(Scheduler& scheduler, const LaunchConfig& config, void (*entry)(uint8_t*), uint8_t* tiling,
                  GmHooks& hooks);

// Size of a core's stack in this build.
size_t core_stack_bytes();

}  // namespace ascend_deepep::twin
