// SPDX-License-Identifier: Apache-2.0
//
// Entry point of dispatch_v2: all cores start together, since they poll each other. `tiling`: DispatchTiling in GM.
#include "dispatch/kernel.h"

__schedmode__(1) __global__ __vector__ void dispatch_v2(GM_ADDR tiling) {
    ascend_deepep::kernel::run_dispatch(tiling);
}
