// SPDX-License-Identifier: Apache-2.0
// Counts the no-ops that __launch_bounds__ put in front of a function's entry. Layer: twin/runtime.
// Alignment padding may add one, so the count is rounded down to whole warps.
#include "twin/runtime/launch_bound.h"

#include <cstring>

namespace ascend_deepep::twin {
namespace {

constexpr uint32_t kLargestLaunchBound = 2048;
constexpr uint32_t kWarpThreads = 32;

}  // namespace

uint32_t launch_bound(const void* function) {
#if defined(__x86_64__)
    using Instruction = uint8_t;
    constexpr Instruction kNoOp = 0x90;
#elif defined(__aarch64__)
    using Instruction = uint32_t;
    constexpr Instruction kNoOp = 0xD503201F;
#else
#error "no no-op known for this architecture"
#endif
    const auto* entry = static_cast<const uint8_t*>(function);
    uint32_t count = 0;
    Instruction before = kNoOp;
    while (count < kLargestLaunchBound) {
        std::memcpy(&before, entry - (count + 1) * sizeof(Instruction), sizeof(Instruction));
        if (before != kNoOp) break;
        ++count;
    }
    if (count < kWarpThreads) return kDefaultLaunchBound;
    return count / kWarpThreads * kWarpThreads;
}

}  // namespace ascend_deepep::twin
