// SPDX-License-Identifier: Apache-2.0
// Words that the device compiler knows by itself: execution and address spaces, pipes, event ids, dim3.
// Layer: twin/include. Spaces vanish on a host compiler; the header check types them, the twin checks addresses.
#pragma once

#include <cstddef>
#include <cstdint>

#include "twin_detail/compile_rules.h"

#define __NPU_ARCH__ 3510

#define __global__
#define __vector__
#define __aicore__
#define __schedmode__(mode)
// Of its own translation unit: the linker cannot drop doubles of a function that carries its launch bound.
#define __simt_vf__ static
#define __simt_callee__
#define __callee__
// A function cannot say its bound at run time, so the bound is written in front of it: that many no-ops, which
// asc_vf_call counts (twin/runtime/launch_bound.h).
#define __launch_bounds__(threads)                                                                    \
    __attribute__((patchable_function_entry(::ascend_deepep::twin::checked_launch_bound<(threads)>(), \
                                            ::ascend_deepep::twin::checked_launch_bound<(threads)>())))
#define __gm__
#define __ubuf__
#define __inout_pipe__(pipe)
#define __align__(bytes) alignas(bytes)
#define ASCEND_IS_AIV constexpr(true)
#define ASCEND_IS_AIC constexpr(false)

#define GM_ADDR __gm__ uint8_t*

enum pipe_t { PIPE_S = 0, PIPE_V, PIPE_M, PIPE_MTE1, PIPE_MTE2, PIPE_MTE3, PIPE_ALL };
enum event_t { EVENT_ID0 = 0, EVENT_ID1, EVENT_ID2, EVENT_ID3, EVENT_ID4, EVENT_ID5, EVENT_ID6, EVENT_ID7 };

namespace cce {
struct dim3 {
    uint32_t x, y, z;
    constexpr dim3(uint32_t x_value = 1, uint32_t y_value = 1, uint32_t z_value = 1)
        : x(x_value), y(y_value), z(z_value) {}
};
}  // namespace cce
using cce::dim3;

constexpr int32_t warpSize = 32;

namespace ascend_deepep::twin {
template <long long kBound>
constexpr unsigned checked_launch_bound() {
    static_assert(kBound >= 1 && kBound <= 2048, ASCEND_DEEPEP_LAUNCH_BOUND_RANGE);
    return static_cast<unsigned>(kBound);
}
}  // namespace ascend_deepep::twin
