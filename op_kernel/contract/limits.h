// SPDX-License-Identifier: Apache-2.0
//
// The limits of the operators. Layer: contract (no includes but <cstdint>).
// Every size that depends on a maximum derives from these; op_host checks calls against them.
#ifndef ASCEND_DEEPEP_CONTRACT_LIMITS_H
#define ASCEND_DEEPEP_CONTRACT_LIMITS_H

#include <cstdint>

namespace ascend_deepep {

// Number of the layout as a whole: window, workspace, wire and tiling data. Raised by every change of any of them.
constexpr uint32_t kLayoutAbi = 4;

constexpr uint32_t kMaxRanks = 1024;
constexpr uint32_t kMaxExperts = 1024;
constexpr uint32_t kMaxBlocksPerRank = 2048;  // (local expert, source rank) pairs of one rank
constexpr uint32_t kMaxTokens = 8192;         // per rank and call
constexpr uint32_t kMaxTopk = 16;
constexpr uint32_t kMaxSharedExperts = 4;
constexpr uint32_t kMaxColumns = kMaxTopk + kMaxSharedExperts;  // of a token: its choices, then shared experts
constexpr uint32_t kMinHidden = 64;
constexpr uint32_t kMaxHidden = 8192;
constexpr uint32_t kHiddenMultiple = 16;  // 16 elements of 2 B are the 32 B unit of every copy
constexpr uint32_t kMinCores = 4;         // one per sending role: stage, wqe_builder, doorbell, cumsum
constexpr uint32_t kMaxCores = 72;        // AIV cores of the largest 950 part
constexpr uint32_t kMaxQueuesPerPeer = 4;
constexpr uint32_t kMaxNameLength = 127;  // bytes of group_ep

// UB that every launch of these kernels asks for, and all that a core may use: 256 KiB less 8 KiB of reserve and the
// 32 KiB of data cache below which a kernel with SIMT functions does not start.
constexpr uint32_t kKernelUbBytes = 216 * 1024;

constexpr uint32_t kElementBytes = 2;  // bf16 and fp16: what the widest row on the wire is made of

static_assert(kHiddenMultiple * kElementBytes == 32, "a row must be whole 32 B units");
static_assert(kMaxTokens * kMaxTopk < (1U << 31), "a (token, column) pair and one more bit fit 32 bits");
static_assert(kMaxExperts < 0xFFFF, "an expert fits the u16 of a header entry and leaves 0xFFFF for none");

}  // namespace ascend_deepep

#endif  // ASCEND_DEEPEP_CONTRACT_LIMITS_H
