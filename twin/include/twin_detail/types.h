// SPDX-License-Identifier: Apache-2.0
// Enumerations of namespace AscendC, and how its events and positions map to pipes.
// Layer: twin/include.
#pragma once

#include "twin_detail/keywords.h"
#include "twin_detail/policy.h"

namespace AscendC {

using TEventID = int8_t;

enum class TPosition : uint8_t { GM, VECIN, VECOUT, VECCALC, LCM = VECCALC, MAX };
using QuePosition = TPosition;

// The kinds of event that an AIV core has.
enum class HardEvent : uint8_t {
    MTE2_V,
    V_MTE2,
    MTE3_V,
    V_MTE3,
    V_V,
    MTE3_MTE2,
    MTE2_MTE3,
    S_V,
    V_S,
    S_MTE2,
    MTE2_S,
    S_MTE3,
    MTE3_S,
    MAX,
};

enum class MemDsbT : uint8_t { ALL = 0, DDR, UB, SEQ };
enum class CacheLine : uint64_t { SINGLE_CACHE_LINE = 0, ENTIRE_DATA_CACHE };
enum class DcciDst : uint64_t { CACHELINE_ALL = 0, CACHELINE_UB, CACHELINE_OUT, CACHELINE_ATOMIC };
enum class PaddingMode : uint8_t { Normal = 0, Compact };
enum class RoundMode : uint8_t {
    CAST_NONE = 0,
    CAST_RINT,
    CAST_FLOOR,
    CAST_CEIL,
    CAST_ROUND,
    CAST_TRUNC,
    CAST_ODD,
    CAST_HYBRID,
    CAST_EVEN,
    CAST_ZERO,
    UNKNOWN = 0xFF,
};

}  // namespace AscendC

namespace ascend_deepep::twin {

static_assert(static_cast<int>(AscendC::HardEvent::MAX) == kNumAivEvents, "one flag table row per kind of event");

struct PipePair {
    Pipe source;
    Pipe target;
};

constexpr PipePair pipes_of(AscendC::HardEvent event) {
    using AscendC::HardEvent;
    switch (event) {
        case HardEvent::MTE2_V:
            return {Pipe::kMte2, Pipe::kV};
        case HardEvent::V_MTE2:
            return {Pipe::kV, Pipe::kMte2};
        case HardEvent::MTE3_V:
            return {Pipe::kMte3, Pipe::kV};
        case HardEvent::V_MTE3:
            return {Pipe::kV, Pipe::kMte3};
        case HardEvent::V_V:
            return {Pipe::kV, Pipe::kV};
        case HardEvent::MTE3_MTE2:
            return {Pipe::kMte3, Pipe::kMte2};
        case HardEvent::MTE2_MTE3:
            return {Pipe::kMte2, Pipe::kMte3};
        case HardEvent::S_V:
            return {Pipe::kS, Pipe::kV};
        case HardEvent::V_S:
            return {Pipe::kV, Pipe::kS};
        case HardEvent::S_MTE2:
            return {Pipe::kS, Pipe::kMte2};
        case HardEvent::MTE2_S:
            return {Pipe::kMte2, Pipe::kS};
        case HardEvent::S_MTE3:
            return {Pipe::kS, Pipe::kMte3};
        case HardEvent::MTE3_S:
            return {Pipe::kMte3, Pipe::kS};
        case HardEvent::MAX:
            break;
    }
    return {Pipe::kS, Pipe::kS};
}

// The pipes that fill and that empty a queue between two positions.
constexpr PipePair pipes_of(AscendC::TPosition source, AscendC::TPosition target) {
    using AscendC::TPosition;
    if (source == TPosition::GM) {
        return {Pipe::kMte2, Pipe::kV};
    }
    if (target == TPosition::GM) {
        return {Pipe::kV, Pipe::kMte3};
    }
    return {Pipe::kMte2, Pipe::kMte3};
}

// The two ends of a TQue at one position.
constexpr AscendC::TPosition queue_source(AscendC::TPosition position) {
    return position == AscendC::TPosition::VECIN ? AscendC::TPosition::GM : position;
}
constexpr AscendC::TPosition queue_target(AscendC::TPosition position) {
    return position == AscendC::TPosition::VECOUT ? AscendC::TPosition::GM : position;
}

}  // namespace ascend_deepep::twin
