// SPDX-License-Identifier: Apache-2.0
// What work of a core takes in a world whose cores run beside each other. Layer: twin/sim. docs/scale.md.
// Without costs a world has one clock, on which an access of any core takes a nanosecond: an order of events, no speed.
// With costs each core and its pipes have a clock of their own, who is first goes on, and the clock of the world is
// theirs. The figures are assumptions, round on purpose: no speed of an NPU is known here.
#pragma once

#include <cstdint>
#include <string_view>

namespace ascend_deepep::sim {

struct Costs {
    uint64_t load_ns = 200;     // scalar load past the cache
    uint64_t store_ns = 20;     // scalar store past the cache, doorbells too: posted
    uint64_t barrier_ns = 100;  // DataSyncBarrier
    uint64_t atomic_ns = 300;
    uint64_t copy_ns = 400;  // a copy of a pipe between GM and UB, however long
    uint64_t copy_bytes_per_ns = 64;
    uint64_t simt_ns = 8;         // an access to GM of a SIMT thread: its share of a warp's
    uint64_t wqe_ns = 300;        // reading a WQE, and again executing it
    uint64_t delivery_ns = 1500;  // way of a write to a peer
    uint64_t completion_ns = 500;
    uint64_t link_block_ns = 0;  // a block of 512 B on a link, which takes one after another; 0: links are not limited
};

// One part of a world with costs that is slower than the others, and keeps being so: for a diagnosis to find.
struct Handicap {
    enum class Kind : uint32_t {
        kNone,
        kCore,   // core `core` of `rank` stands still for `ns` at the start of every launch
        kLink,   // a block takes `times` as long from `rank` to `peer`
        kEntry,  // `rank` begins every dispatch `ns` after it could have
    };
    Kind kind = Kind::kNone;
    uint32_t rank = 0;
    uint32_t peer = 0;
    uint32_t core = 0;
    uint64_t ns = 0;
    uint64_t times = 1;

    bool is_of(Kind wanted, uint32_t process) const { return kind == wanted && rank == process; }
};

struct Cost {
    std::string_view name;
    uint64_t Costs::* field;
    std::string_view what;
};

inline constexpr Cost kCosts[] = {
    {"load_ns", &Costs::load_ns, "scalar load past the cache"},
    {"store_ns", &Costs::store_ns, "scalar store past the cache, a doorbell too"},
    {"barrier_ns", &Costs::barrier_ns, "DataSyncBarrier"},
    {"atomic_ns", &Costs::atomic_ns, "atomic"},
    {"copy_ns", &Costs::copy_ns, "copy of a pipe between GM and UB, however long"},
    {"copy_bytes_per_ns", &Costs::copy_bytes_per_ns, "bytes that a copy moves in a nanosecond besides"},
    {"simt_ns", &Costs::simt_ns, "access to GM of a SIMT thread"},
    {"wqe_ns", &Costs::wqe_ns, "reading a WQE, and again executing it"},
    {"delivery_ns", &Costs::delivery_ns, "way of a write to a peer"},
    {"completion_ns", &Costs::completion_ns, "way of a CQE"},
    {"link_block_ns", &Costs::link_block_ns, "block of 512 B on a link, one after another; 0: not limited"},
};

}  // namespace ascend_deepep::sim
