// SPDX-License-Identifier: Apache-2.0
//
// The slots of a communicator's launches. Layer: framework, devices.
#include "framework/npu/tiling_slots.h"

#include <cstring>

namespace ascend_deepep::npu {

TilingSlots::~TilingSlots() {
    for (const auto& slot : slots_)
        acl_.destroy_event(slot->event);  // as Allocation::release(): whoever uses a broken device learns it elsewhere
}

void TilingSlots::grow() {
    memory_.emplace_back(acl_, Place::kPinnedHost, kChunk * (kTilingBytes + kLetterBytes));
    uint8_t* host = memory_.back().data();
    memory_.emplace_back(acl_, Place::kDevice, kChunk * kTilingBytes);
    uint8_t* device = memory_.back().data();
    std::memset(host, 0, kChunk * (kTilingBytes + kLetterBytes));
    uint8_t* letters = host + kChunk * kTilingBytes;
    for (uint32_t i = 0; i < kChunk; ++i) {
        auto slot = std::make_unique<TilingSlot>();
        slot->host_tiling = host + i * kTilingBytes;
        slot->device_tiling = device + i * kTilingBytes;
        slot->letter = letters + i * kLetterBytes;
        require_acl(acl_, acl_.create_event(&slot->event, kEventSync), "aclrtCreateEventExWithFlag");
        free_.push_back(slot.get());
        slots_.push_back(std::move(slot));
    }
}

TilingSlot& TilingSlots::take() {
    if (free_.empty()) grow();
    TilingSlot* slot = free_.back();
    free_.pop_back();
    slot->next_sequence = 0;
    return *slot;
}

void TilingSlots::started(TilingSlot& slot, bool is_recorded) {
    if (is_recorded) {
        recorded_.push_back(&slot);
    } else {
        running_.push_back(&slot);
    }
}

void TilingSlots::collect(const Visitor& ended) {
    while (!running_.empty()) {
        TilingSlot& slot = *running_.front();
        uint32_t status = 0;
        require_acl(acl_, acl_.query_event(slot.event, &status), "aclrtQueryEventStatus");
        if (status != kEventComplete) return;  // launches are ordered, so no later one has ended either
        ended(slot);
        running_.pop_front();
        free_.push_back(&slot);
    }
}

void TilingSlots::visit_recorded(const Visitor& recorded) {
    for (TilingSlot* slot : recorded_)
        recorded(*slot);
}

void TilingSlots::visit_all(const Visitor& visitor) {
    for (const auto& slot : slots_)
        visitor(*slot);
}

}  // namespace ascend_deepep::npu
