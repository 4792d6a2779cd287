// SPDX-License-Identifier: Apache-2.0
// Votes, shuffles and reductions over the live lanes of a warp.
// Layer: twin/include, the real header's name. All live lanes must reach the same call (source line); lanes that have
// returned are left out. A shuffle from a lane outside the warp's live lanes gives kPoison.
#pragma once

#include <cstring>

#include "twin/runtime/simt.h"
#include "twin_detail/keywords.h"
#include "twin_detail/policy.h"

namespace ascend_deepep::twin {

constexpr uint64_t kPoison = 0xcdcdcdcdcdcdcdcdULL;

template <typename T>
inline uint64_t lane_word(T value) {
    uint64_t word = 0;
    std::memcpy(&word, &value, sizeof(T));
    return word;
}
template <typename T>
inline T lane_value(uint64_t word) {
    T value;
    std::memcpy(static_cast<void*>(&value), &word, sizeof(T));
    return value;
}

inline const WarpExchange& vote(bool predicate, SourceSite site) {
    return current_simt("warp vote").exchange(WarpOp::kVote, predicate, 0, nullptr, site);
}

// `source` gives the lane to read from the own lane and the width of a segment.
template <typename T, typename Source>
inline T shuffle(T value, int32_t width, SourceSite site, Source source) {
    require(width >= 1 && width <= warpSize && (width & (width - 1)) == 0, rules::kShuffleWidth, "asc_shfl",
            static_cast<uint64_t>(width), warpSize, "use 2, 4, 8, 16 or 32");
    SimtRunner& runner = current_simt("asc_shfl");
    const auto lane = static_cast<int32_t>(runner.thread() % kWarpLanes);
    const WarpExchange& exchange = runner.exchange(WarpOp::kShuffle, false, lane_word(value), nullptr, site);
    const auto from = static_cast<uint32_t>(source(lane, lane & ~(width - 1))) % kWarpLanes;
    return lane_value<T>((exchange.lanes >> from & 1u) != 0 ? exchange.values[from] : kPoison);
}

template <typename T>
inline T shuffle_index(T value, int32_t src_lane, int32_t width, SourceSite site) {
    return shuffle(value, width, site, [=](int32_t, int32_t first) { return first + (src_lane & (width - 1)); });
}
template <typename T>
inline T shuffle_up(T value, uint32_t delta, int32_t width, SourceSite site) {
    return shuffle(value, width, site, [=](int32_t lane, int32_t first) {
        return static_cast<int64_t>(lane) - delta < first ? lane : lane - static_cast<int32_t>(delta);
    });
}
template <typename T>
inline T shuffle_down(T value, uint32_t delta, int32_t width, SourceSite site) {
    return shuffle(value, width, site, [=](int32_t lane, int32_t first) {
        return static_cast<int64_t>(lane) + delta >= first + width ? lane : lane + static_cast<int32_t>(delta);
    });
}
template <typename T>
inline T shuffle_xor(T value, int32_t lane_mask, int32_t width, SourceSite site) {
    return shuffle(value, width, site, [=](int32_t lane, int32_t first) {
        const int32_t from = lane ^ lane_mask;
        return from >= first + width || from < 0 ? lane : from;
    });
}

struct AddLanes {
    template <typename T>
    static T join(T a, T b) {
        if constexpr (std::is_integral_v<T>) {
            return static_cast<T>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
        } else {
            return a + b;
        }
    }
};
struct MaxLanes {
    template <typename T>
    static T join(T a, T b) {
        return a < b ? b : a;
    }
};
struct MinLanes {
    template <typename T>
    static T join(T a, T b) {
        return b < a ? b : a;
    }
};

// A tree over the lanes that took part: neighbours first.
template <typename T, typename Join>
void reduce_lanes(WarpExchange& exchange) {
    T values[kWarpLanes];
    bool present[kWarpLanes];
    for (uint32_t i = 0; i < kWarpLanes; ++i) {
        present[i] = (exchange.lanes >> i & 1u) != 0;
        values[i] = present[i] ? lane_value<T>(exchange.values[i]) : T{};
    }
    for (uint32_t step = 1; step < kWarpLanes; step *= 2) {
        for (uint32_t i = 0; i < kWarpLanes; i += 2 * step) {
            if (present[i] && present[i + step]) {
                values[i] = Join::join(values[i], values[i + step]);
            } else if (present[i + step]) {
                values[i] = values[i + step];
                present[i] = true;
            }
        }
    }
    exchange.result = lane_word(values[0]);
}

template <typename T, typename Join>
inline T reduce(T value, SourceSite site) {
    const WarpExchange& exchange =
        current_simt("asc_reduce").exchange(WarpOp::kReduce, false, lane_word(value), &reduce_lanes<T, Join>, site);
    return lane_value<T>(exchange.result);
}

}  // namespace ascend_deepep::twin

#define ASCEND_DEEPEP_SITE ascend_deepep::twin::SourceSite site = ascend_deepep::twin::SourceSite::here()

__simt_callee__ inline int32_t asc_all(int32_t predicate, ASCEND_DEEPEP_SITE) {
    const ascend_deepep::twin::WarpExchange& exchange = ascend_deepep::twin::vote(predicate != 0, site);
    return exchange.votes == exchange.lanes ? 1 : 0;
}
__simt_callee__ inline int32_t asc_any(int32_t predicate, ASCEND_DEEPEP_SITE) {
    return ascend_deepep::twin::vote(predicate != 0, site).votes != 0 ? 1 : 0;
}
__simt_callee__ inline uint32_t asc_ballot(int32_t predicate, ASCEND_DEEPEP_SITE) {
    return ascend_deepep::twin::vote(predicate != 0, site).votes;
}
// On the twin a collective like the others: without lockstep there is no other meaning of "active".
__simt_callee__ inline uint32_t asc_activemask(ASCEND_DEEPEP_SITE) {
    using namespace ascend_deepep::twin;
    return current_simt("asc_activemask").exchange(WarpOp::kActiveMask, false, 0, nullptr, site).lanes;
}

#define ASCEND_DEEPEP_SHUFFLES(T)                                                                                   \
    __simt_callee__ inline T asc_shfl(T var, int32_t src_lane, int32_t width = warpSize, ASCEND_DEEPEP_SITE) {      \
        return ascend_deepep::twin::shuffle_index(var, src_lane, width, site);                                      \
    }                                                                                                               \
    __simt_callee__ inline T asc_shfl_up(T var, uint32_t delta, int32_t width = warpSize, ASCEND_DEEPEP_SITE) {     \
        return ascend_deepep::twin::shuffle_up(var, delta, width, site);                                            \
    }                                                                                                               \
    __simt_callee__ inline T asc_shfl_down(T var, uint32_t delta, int32_t width = warpSize, ASCEND_DEEPEP_SITE) {   \
        return ascend_deepep::twin::shuffle_down(var, delta, width, site);                                          \
    }                                                                                                               \
    __simt_callee__ inline T asc_shfl_xor(T var, int32_t lane_mask, int32_t width = warpSize, ASCEND_DEEPEP_SITE) { \
        return ascend_deepep::twin::shuffle_xor(var, lane_mask, width, site);                                       \
    }

ASCEND_DEEPEP_SHUFFLES(int32_t)
ASCEND_DEEPEP_SHUFFLES(uint32_t)
ASCEND_DEEPEP_SHUFFLES(float)
ASCEND_DEEPEP_SHUFFLES(int64_t)
ASCEND_DEEPEP_SHUFFLES(uint64_t)

#define ASCEND_DEEPEP_REDUCTIONS(T)                                                      \
    __simt_callee__ inline T asc_reduce_add(T val, ASCEND_DEEPEP_SITE) {                 \
        return ascend_deepep::twin::reduce<T, ascend_deepep::twin::AddLanes>(val, site); \
    }                                                                                    \
    __simt_callee__ inline T asc_reduce_max(T val, ASCEND_DEEPEP_SITE) {                 \
        return ascend_deepep::twin::reduce<T, ascend_deepep::twin::MaxLanes>(val, site); \
    }                                                                                    \
    __simt_callee__ inline T asc_reduce_min(T val, ASCEND_DEEPEP_SITE) {                 \
        return ascend_deepep::twin::reduce<T, ascend_deepep::twin::MinLanes>(val, site); \
    }

ASCEND_DEEPEP_REDUCTIONS(int32_t)
ASCEND_DEEPEP_REDUCTIONS(uint32_t)
ASCEND_DEEPEP_REDUCTIONS(float)

#undef ASCEND_DEEPEP_SHUFFLES
#undef ASCEND_DEEPEP_REDUCTIONS
#undef ASCEND_DEEPEP_SITE
