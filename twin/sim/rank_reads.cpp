// SPDX-License-Identifier: Apache-2.0
// Copies of a core from its own window, which others write meanwhile. Layer: twin/sim.
#include <cstring>

#include "twin/sim/rank.h"

namespace ascend_deepep::sim {
namespace {

constexpr uint64_t kWatchBytes = 64;  // longest piece that a polling reader looks at

}  // namespace

// While a copy runs, pieces of other ranks' writes may become visible.
void SimRank::meanwhile() {
    EventQueue& events = shared_.events;
    for (uint64_t left = shared_.random.below(4); left != 0 && !events.empty(); --left) {
        if (events.next_due() > shared_.now + shared_.schedule.delivery_ns) return;
        if (!events.next_is(EventKind::kPiece)) return;
        if (must_follow(shared_, events.next()) != Delay::kNone) return;
        const Event event = events.take();
        if (event.due > shared_.now) shared_.now = event.due;
        shared_.wires[event.rank]->piece(event);
    }
}

bool SimRank::is_torn() {
    if (shared_.choices == nullptr) return shared_.random.one_in(4);
    const bool has_piece = !shared_.events.empty() && shared_.events.next_is(EventKind::kPiece);
    return has_piece && shared_.choices->at(static_cast<uint8_t>(Delay::kTorn)) == Delay::kTorn;
}

// The timeline learns of data that was put by a rank, not of looks at flag areas.
void SimRank::show_read(const void* src, uint64_t bytes, uint64_t piece_bytes) {
    const uint64_t offset = arena_.offset_of(src);
    if (offset % kBlockBytes >= kBlockDataBytes || !twin::is_for_peers(arena_.region_of(offset, piece_bytes))) return;
    shared_.timeline->collects(actors_.current_id(), offset, bytes, actors_.turn_ns());
}

void SimRank::window_read(void* dst, const void* src, size_t bytes) {
    if (is_weighed()) weigh_copy(src, bytes, false);
    if (shared_.timeline != nullptr) show_read(src, bytes, bytes);
    read_piece(dst, src, bytes);
}

void SimRank::read_piece(void* dst, const void* src, size_t bytes) {
    show();
    Place place;
    if (!find(src, bytes, &place)) refuse(src, bytes, false);
    took(place, bytes);
    if (bytes <= kWatchBytes) actors_.has_read(place.line, bytes);
    shared_.trace.mix(TraceKind::kAccess, actors_.current_id(), place.word.offset * 2);
    touches(place, bytes, false);
    auto* to = static_cast<uint8_t*>(dst);
    const auto* from = static_cast<const uint8_t*>(src);
    if (bytes <= kUnitBytes || !is_torn()) {
        std::memcpy(to, from, bytes);
        return;
    }
    const size_t cut = kUnitBytes * shared_.random.between(1, static_cast<uint32_t>((bytes - 1) / kUnitBytes));
    const bool is_backwards = shared_.random.one_in(2);
    std::memcpy(is_backwards ? to + cut : to, is_backwards ? from + cut : from, is_backwards ? bytes - cut : cut);
    meanwhile();
    std::memcpy(is_backwards ? to : to + cut, is_backwards ? from : from + cut, is_backwards ? cut : bytes - cut);
}

void SimRank::window_read_pieces(const twin::Pieces& pieces) {
    const uint64_t bytes = uint64_t{pieces.bytes} * pieces.count;
    if (is_weighed()) weigh_copy(pieces.src, bytes, false);
    if (shared_.timeline != nullptr) show_read(pieces.src, bytes, pieces.bytes);
    const uint32_t first = pieces.count == 1 ? 0 : static_cast<uint32_t>(shared_.random.below(pieces.count));
    for (uint32_t i = 0; i < pieces.count; ++i) {
        const uint32_t piece = (first + i) % pieces.count;
        if (i != 0 && shared_.random.one_in(4)) meanwhile();
        read_piece(pieces.dst + pieces.dst_step * piece, pieces.src + pieces.src_step * piece, pieces.bytes);
    }
}

}  // namespace ascend_deepep::sim
