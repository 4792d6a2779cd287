// SPDX-License-Identifier: Apache-2.0
// Sizes of the unified buffer (UB) of one AIV core of dav-3510 and the limits of what lives in it.
// Layer: twin/runtime. The one place of these numbers on the twin's side.
#pragma once

#include <cstdint>

#include "contract/limits.h"

namespace ascend_deepep::twin {

constexpr uint32_t kUbTotalBytes = 256 * 1024;
constexpr uint32_t kUbReserveBytes = 8 * 1024;     // VF stack and AscendC's own scratch
constexpr uint32_t kUbMinDcacheBytes = 32 * 1024;  // below this a kernel with SIMT functions does not launch
constexpr uint32_t kUbMaxDynamicBytes = kUbTotalBytes - kUbReserveBytes - kUbMinDcacheBytes;
static_assert(kUbMaxDynamicBytes == kKernelUbBytes, "the twin gives a kernel what a launch asks for");

constexpr uint32_t kUbBlockBytes = 32;     // unit of MTE and vector addresses
constexpr uint32_t kMaxUbBuffers = 64;     // per TPipe
constexpr uint32_t kMaxQueueBuffers = 28;  // buffer mutexes 28..31 are reserved
constexpr int kNumEventIds = 8;            // per kind of event
constexpr int kNumAivEvents = 13;
constexpr uint8_t kUbPoison = 0xCD;

constexpr uint32_t kMaxSimtThreads = 2048;
constexpr uint32_t kWarpLanes = 32;

constexpr uint32_t round_up_to_block(uint32_t bytes) {
    return (bytes + kUbBlockBytes - 1) / kUbBlockBytes * kUbBlockBytes;
}

}  // namespace ascend_deepep::twin
