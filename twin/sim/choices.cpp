// SPDX-License-Identifier: Apache-2.0
// Layer: twin/sim.
#include "twin/sim/choices.h"

#include <algorithm>
#include <stdexcept>

#include "contract/block.h"
#include "twin/sim/lines.h"

namespace ascend_deepep::sim {
namespace {

bool is_flag(const Event& event) {
    return event.kind == EventKind::kPiece && event.b % kBlockBytes >= kBlockDataBytes;
}

// `other` is data of the block that `flag` is the flag area of.
bool is_its_data(const Event& flag, const Event& other) {
    return other.kind == EventKind::kPiece && other.rank == flag.rank && other.a == flag.a && !is_flag(other) &&
           other.b / kBlockBytes == flag.b / kBlockBytes;
}

}  // namespace

uint32_t SharedWords::table_of(uint32_t rank, uint64_t line) {
    return static_cast<uint32_t>(rank * kMostStretches + line / kMemoryLine);
}

bool SharedWords::touch(uint32_t actor, uint32_t rank, uint64_t line, uint64_t bytes, bool is_write) {
    if (actor > kMaxActors || line / kMemoryLine >= kMostStretches) {
        throw std::length_error("a search is for worlds of a few cores and tensors");
    }
    const uint32_t number = table_of(rank, line);
    if (tables_.size() <= number) tables_.resize(number + 1);
    std::vector<Word>& words = tables_[number];
    const uint64_t first = line % kMemoryLine / kWordBytes;
    const uint64_t last = (line % kMemoryLine + bytes - 1) / kWordBytes;
    if (words.size() <= last) words.resize(last + 1);
    const auto bit = static_cast<uint16_t>(1U << actor);
    bool has_learned = false;
    for (uint64_t i = first; i <= last; ++i) {
        Word& word = words[i];
        const bool was_shared = word.is_shared();
        word.users |= bit;
        if (is_write) word.writers |= bit;
        has_learned |= word.is_shared() != was_shared;
    }
    return has_learned;
}

bool SharedWords::any(uint32_t rank, uint64_t line, uint64_t bytes) const {
    const uint32_t number = table_of(rank, line);
    if (tables_.size() <= number) return false;
    const std::vector<Word>& words = tables_[number];
    const uint64_t end = std::min<uint64_t>(words.size(), (line % kMemoryLine + bytes - 1) / kWordBytes + 1);
    for (uint64_t i = line % kMemoryLine / kWordBytes; i < end; ++i) {
        if (words[i].is_shared()) return true;
    }
    return false;
}

void Choices::begin(const std::vector<DelayAt>& delays) {
    delays_ = delays;
    next_delay_ = 0;
    points_.clear();
    has_learned_ = false;
    next_place_ = 0;
    late_.clear();
    parked_.clear();
}

Delay Choices::at(uint8_t alternatives, bool is_noticed) {
    const auto number = static_cast<uint32_t>(points_.size());
    points_.push_back(is_noticed ? alternatives : 0);
    if (is_used_up() || delays_[next_delay_].point != number) return Delay::kNone;
    const Delay how = delays_[next_delay_++].how;
    return (alternatives & static_cast<uint8_t>(how)) != 0 ? how : Delay::kNone;
}

Delay Choices::follows(const Event& event) const {
    if (!is_flag(event)) return Delay::kNone;
    for (const Parked& parked : parked_) {
        if (parked.is_event && is_its_data(event, parked.event)) return Delay::kLast;
    }
    for (const Late& late : late_) {
        if (is_its_data(event, late.event)) return Delay::kBehind;
    }
    return Delay::kNone;
}

void Choices::put_off(const Event& event, Delay how) {
    if (how == Delay::kLast) {
        parked_.push_back({true, event, 0});
    } else {
        late_.push_back({event, new_place()});
    }
}

Event Choices::take_late() {
    const Event event = late_.front().event;
    late_.pop_front();
    return event;
}

Choices::Parked Choices::take_parked() {
    const Parked parked = parked_.front();
    parked_.pop_front();
    return parked;
}

}  // namespace ascend_deepep::sim
