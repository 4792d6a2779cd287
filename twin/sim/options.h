// SPDX-License-Identifier: Apache-2.0
// What a world may assume of its hardware, and how it spreads its choices. Layer: twin/sim. docs/twin.md, "Simulator".
#pragma once

#include <cstdint>
#include <string_view>

#include "twin/sim/random.h"

namespace ascend_deepep::sim {

// Each is on unless it is dropped by the name that kSwitches gives it.
struct Assumptions {
    // What hardware promises. Without one the machine does what it excludes. docs/protocol.md, A1 to A4.
    bool flags_after_data = true;          // A1
    bool finished_has_landed = true;       // A2
    bool completed_was_fetched = true;     // A3
    bool barrier_covers_registers = true;  // A4
    bool order_bits_are_kept = true;       // a WQE that asks for order comes after the earlier ones of its queue
    // What hardware may do to a kernel that does not prevent it. Without one the machine is kinder.
    bool posted_stores = true;       // scalar stores past the cache become visible later, in any order
    bool posted_simt_stores = true;  // stores of SIMT threads likewise
    bool scalar_cache = true;        // 64 B lines, written back whole
    bool simt_cache = true;          // 128 B lines, written through
};

struct Switch {
    std::string_view name;
    bool Assumptions::* field;
    std::string_view what;  // holds while it is on
};

inline constexpr Switch kSwitches[] = {
    {"a1", &Assumptions::flags_after_data, "the flag area of a block is never visible before its data"},
    {"a2", &Assumptions::finished_has_landed, "writes of a finished kernel are visible"},
    {"a3", &Assumptions::completed_was_fetched, "ring slots of completed WQEs have been read"},
    {"a4", &Assumptions::barrier_covers_registers, "DataSyncBarrier waits for register stores as well"},
    {"order-bits", &Assumptions::order_bits_are_kept,
     "a WQE with order bits comes after the earlier ones of its queue"},
    {"posted-stores", &Assumptions::posted_stores, "scalar stores past the cache are posted"},
    {"posted-simt-stores", &Assumptions::posted_simt_stores, "stores of SIMT threads are outstanding until a fence"},
    {"scalar-cache", &Assumptions::scalar_cache, "GlobalTensor::GetValue and SetValue go through a cache"},
    {"simt-cache", &Assumptions::simt_cache, "asc_ldca goes through a cache"},
};

// False: no switch has this name.
constexpr bool drop_switch(std::string_view name, Assumptions* assumptions) {
    for (const Switch& known : kSwitches) {
        if (known.name != name) continue;
        assumptions->*known.field = false;
        return true;
    }
    return false;
}

// How lines leave caches before anything asks for it.
enum class Evictions : uint32_t { kOff, kRandom, kStorm, kCount };

constexpr std::string_view evictions_name(Evictions evictions) {
    constexpr std::string_view kNames[] = {"off", "random", "storm"};
    return kNames[static_cast<uint32_t>(evictions)];
}

// Drawn once a world, so that worlds differ in kind: patient and hasty cores, near and far peers.
struct Schedule {
    uint32_t run_bits;       // a core goes on for up to 2^run_bits accesses
    uint32_t slow_shift;     // the slowest core is chosen 2^slow_shift times less often
    uint32_t pipe_shift;     // pipes likewise
    uint32_t piece_units;    // largest piece of a remote write, in units of 32 B
    uint64_t delivery_ns;    // longest way of a piece
    uint64_t wqe_ns;         // longest pause of a queue before a step of a WQE
    uint64_t completion_ns;  // longest way of a CQE
    uint64_t host_ns;        // longest pause of a host between operations
    uint32_t store_slots;    // posted stores of a core, of either unit; 0: they become visible at once
    uint64_t store_ns;       // longest pause of a core's posted stores
    Evictions evictions;
    uint64_t block_ns;  // of a block on the slowest link, which takes one after another; 0: links are not limited
};

// Of a world whose order is fixed: a core goes on until it waits, a piece is all of a block's data or its flag area,
// what is under way comes as soon as anything else happens, stores at once, and lines stay in caches.
constexpr Schedule kOrderly{40, 0, 0, 15, 1, 1, 1, 1, 0, 1, Evictions::kOff, 0};

// Links have a generator of their own, so that what `random` gives stays what it was before they had a speed.
constexpr uint64_t kLinkSalt = 0x7A1D5E9034C8B20DULL;

inline uint64_t draw_block_ns(uint64_t seed) {
    constexpr uint64_t kBlockWays[] = {10, 100, 1000, 4000};  // a network of 400 Gb/s: 10
    Random random(seed ^ kLinkSalt);
    return random.one_in(4) ? random.pick(kBlockWays) : 0;
}

// Nanoseconds of a block on one link.
inline uint64_t draw_link_ns(uint64_t seed, uint64_t block_ns, uint32_t from, uint32_t to) {
    Random random((seed ^ kLinkSalt) + (uint64_t{from} << 32) + to + 1);
    return random.below(block_ns + 1);
}

// `random`: that of the seed, when nothing has been drawn from it yet.
inline Schedule draw_schedule(uint64_t seed, Random& random) {
    constexpr uint64_t kWays[] = {1, 40, 400, 4000, 40000, 400000};
    constexpr uint64_t kStoreWays[] = {1, 40, 400, 4000};
    constexpr uint32_t kStoreSlots[] = {0, 2, 8, 32};
    Schedule schedule{};
    schedule.run_bits = random.between(0, 9);
    schedule.slow_shift = random.between(0, 6);
    schedule.pipe_shift = random.between(0, 6);
    schedule.piece_units = random.one_in(3) ? 15 : random.between(1, 15);
    schedule.delivery_ns = random.pick(kWays);
    schedule.wqe_ns = random.pick(kWays);
    schedule.completion_ns = random.pick(kWays);
    schedule.host_ns = random.pick(kWays);
    schedule.store_slots = random.pick(kStoreSlots);
    schedule.store_ns = random.pick(kStoreWays);
    schedule.evictions = static_cast<Evictions>(random.below(static_cast<uint32_t>(Evictions::kCount)));
    schedule.block_ns = draw_block_ns(seed);
    return schedule;
}

}  // namespace ascend_deepep::sim
