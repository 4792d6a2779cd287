// SPDX-License-Identifier: Apache-2.0
//
// Entry point of combine_v2: all cores start together, since they poll each other. `tiling`: CombineTiling in GM.
#include "combine/kernel.h"

__schedmode__(1) __global__ __vector__ void combine_v2(GM_ADDR tiling) {
    ascend_deepep::kernel::run_combine(tiling);
}
