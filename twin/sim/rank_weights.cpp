// SPDX-License-Identifier: Apache-2.0
// What a rank's cores do, counted and charged. Layer: twin/sim.
#include "contract/tag.h"
#include "twin/runtime/simt.h"
#include "twin/sim/rank.h"

namespace ascend_deepep::sim {
namespace {

Meter::Count loads_of(WindowRegion region) {
    switch (region) {
        case WindowRegion::kControlRing:
            return Meter::Count::kTagLoads;
        case WindowRegion::kAbort:
            return Meter::Count::kAbortLoads;
        case WindowRegion::kControlPage:
            return Meter::Count::kPageLoads;
        default:
            return Meter::Count::kOtherLoads;
    }
}

}  // namespace

void SimRank::weigh(Meter::Count count, uint64_t ns, uint64_t number) {
    if (shared_.costs != nullptr) actors_.charge(ns);
    if (shared_.meter == nullptr) return;
    const auto core = static_cast<uint32_t>(twin::current_core_pointer->index);
    const uint64_t progress = cores_[core].own_word(page().cores[core].progress);
    shared_.meter->at(config_.process, core, progress == 0 ? 0 : flag_value(progress));
    shared_.meter->add(config_.process, core, count, number);
}

void SimRank::weigh_word(const Place& place, bool write, bool is_atomic) {
    if (twin::current_simt_pointer != nullptr) {
        weigh(Meter::Count::kSimtAccesses, cost(&Costs::simt_ns));
    } else if (is_atomic) {
        weigh(Meter::Count::kAtomics, cost(&Costs::atomic_ns));
    } else if (write) {
        weigh(Meter::Count::kStores, cost(&Costs::store_ns));
    } else {
        const bool is_window = place.shadow == &arena_.shadow(config_.rank);
        const WindowRegion region =
            is_window ? arena_.region_of(place.word.offset, place.word.bytes) : WindowRegion::kCount;
        weigh(loads_of(region), cost(&Costs::load_ns));
    }
}

// `window`: where in a window, null: in no window.
void SimRank::weigh_copy(const void* window, size_t bytes, bool write) {
    const uint64_t per_ns = cost(&Costs::copy_bytes_per_ns);
    weigh(Meter::Count::kCopies, cost(&Costs::copy_ns) + (per_ns == 0 ? 0 : bytes / per_ns));
    if (window == nullptr || arena_.region_of(arena_.offset_of(window), bytes) != WindowRegion::kControlRing) return;
    weigh(write ? Meter::Count::kPosted : Meter::Count::kRead, 0);
    if (write) weigh(Meter::Count::kPostedBytes, 0, bytes);
}

}  // namespace ascend_deepep::sim
