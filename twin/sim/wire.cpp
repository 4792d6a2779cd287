// SPDX-License-Identifier: Apache-2.0
// Layer: twin/sim.
#include "twin/sim/wire.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "twin/sim/checks/overtaking.h"
#include "twin/sim/checks/reuse.h"

namespace ascend_deepep::sim {

Wire::Wire(Shared& shared, Actors& actors, WindowArena& arena, std::vector<uint32_t> members)
    : shared_(shared),
      actors_(actors),
      arena_(arena),
      members_(std::move(members)),
      number_(static_cast<uint32_t>(shared.wires.size())),
      in_air_(arena.num_ranks(), 0),
      told_at_(arena.num_ranks() * arena.num_ranks(), 0),
      num_copies_(arena.num_ranks() * arena.num_ranks(), 0),
      links_(arena.num_ranks() * arena.num_ranks()) {
    shared_.wires.push_back(this);
    for (uint32_t link = 0; link < links_.size(); ++link) {
        const uint32_t from = members_[link / arena.num_ranks()], to = members_[link % arena.num_ranks()];
        links_[link].block_ns = draw_link_ns(shared_.seed, shared_.schedule.block_ns, from, to);
        if (shared_.costs == nullptr) continue;
        const bool is_slow = shared_.handicap.is_of(Handicap::Kind::kLink, from) && shared_.handicap.peer == to;
        links_[link].block_ns = shared_.costs->link_block_ns * (is_slow ? shared_.handicap.times : 1);
    }
}

bool Wire::pass_fault(const RemoteWrite& write, uint64_t* extra_ns) {
    FaultPlan& fault = shared_.fault;
    if (fault.is_over || members_[write.from] != fault.rank) return true;
    const bool is_link = members_[write.to] == fault.peer;
    switch (fault.kind) {
        case SimFault::kLinkSlow:
            if (!is_link) return true;
            *extra_ns = fault.ns;
            break;
        case SimFault::kLateWrite:
            if (fault.counted++ != fault.at) return true;
            *extra_ns = fault.ns;
            fault.struck_peer = members_[write.to];
            break;
        case SimFault::kLinkCut:
            if (!is_link || fault.counted++ < fault.at) return true;
            fault.has_struck = true;
            return false;
        default:
            return true;
    }
    fault.has_struck = true;
    return true;
}

uint32_t Wire::new_flight(const RemoteWrite& write, const uint8_t* source) {
    if (free_.empty()) {
        free_.push_back(static_cast<uint32_t>(flights_.size()));
        flights_.emplace_back();
    }
    const uint32_t number = free_.back();
    free_.pop_back();
    Flight& flight = flights_[number];
    flight.write = write;
    flight.data.assign(source, source + write.bytes);
    flight.pieces_left = 0;
    return number;
}

void Wire::check_overtaking(const RemoteWrite& write) {
    for (const Flight& flight : flights_) {
        if (flight.pieces_left != 0) shared_.findings.report("overtaking", overtaking_fault(flight.write, write));
    }
}

uint64_t Wire::put(const RemoteWrite& write, const uint8_t* source, uint64_t after_ns) {
    shared_.trace.mix(TraceKind::kPut, write.from * arena_.num_ranks() + write.to, write.offset);
    std::string fault = block_fault(arena_, write);
    if (fault.empty()) shared_.findings.report("reuse", reuse_fault(arena_, write));
    const bool is_whole = fault.empty();
    shared_.findings.report("blocks", std::move(fault));
    check_overtaking(write);
    if (is_whole) shared_.findings.report("overtaking", late_fault(arena_, write, source));
    ++num_writes_;
    const WindowRegion region = arena_.region_of(write.offset, write.bytes);
    if (region == WindowRegion::kDispatchHalf0 || region == WindowRegion::kDispatchHalf1)
        ++num_copies_[write.from * arena_.num_ranks() + write.to];
    uint64_t extra_ns = 0;
    if (!shared_.findings.empty() || !pass_fault(write, &extra_ns)) return shared_.now;
    extra_ns += std::max(after_ns, shared_.now) - shared_.now;
    const uint32_t number = new_flight(write, source);
    ++in_air_[write.from];
    if (shared_.timeline != nullptr)
        shared_.timeline->leaves(number_, number, members_[write.from], members_[write.to], write.offset, write.bytes,
                                 shared_.now);
    uint64_t landed_ns = 0;
    for (uint64_t block = 0; block < write.bytes; block += kBlockBytes)
        landed_ns = std::max(landed_ns, send_block(number, block, extra_ns));
    return landed_ns;
}

uint64_t Wire::send_block(uint32_t number, uint64_t block, uint64_t extra_ns) {
    Flight& flight = flights_[number];
    Link& link = links_[flight.write.from * arena_.num_ranks() + flight.write.to];
    link.free_at = std::max(link.free_at, shared_.now) + link.block_ns;
    extra_ns += link.free_at - shared_.now;
    uint64_t last = 0;
    for (uint64_t at = 0; at < kBlockDataBytes;) {
        const uint64_t units = 1 + shared_.random.below(shared_.schedule.piece_units);
        const uint64_t bytes = std::min<uint64_t>(units * kUnitBytes, kBlockDataBytes - at);
        const uint64_t due = shared_.soon(shared_.schedule.delivery_ns) + extra_ns;
        shared_.events.add(due, EventKind::kPiece, number_, number, static_cast<uint32_t>(block + at),
                           static_cast<uint32_t>(bytes));
        last = std::max(last, due);
        at += bytes;
        ++flight.pieces_left;
    }
    uint64_t due = shared_.soon(shared_.schedule.delivery_ns) + extra_ns;
    if (shared_.assumptions.flags_after_data) due = std::max(due, last + 1);  // A1
    shared_.events.add(due, EventKind::kPiece, number_, number, static_cast<uint32_t>(block + kBlockDataBytes),
                       kFlagBytes);
    ++flight.pieces_left;
    return std::max(last, due);
}

void Wire::piece(const Event& event) {
    Flight& flight = flights_[event.a];
    const RemoteWrite& write = flight.write;
    const uint64_t offset = write.offset + event.b;
    shared_.trace.mix(TraceKind::kPiece, write.to, offset);
    std::memcpy(arena_.window(write.to) + offset, flight.data.data() + event.b, event.c);
    arena_.shadow(write.to).mark(offset, event.c);
    const uint64_t line = first_line(number_) + offset;
    const uint32_t process = members_[write.to];
    if (shared_.choices != nullptr) shared_.choices->touches(SharedWords::kFabric, process, line, event.c, true);
    if (shared_.timeline != nullptr) shared_.timeline->arrives(number_, event.a, shared_.now);
    actors_.changes(process, line, event.c);
    if (shared_.timeline != nullptr) shared_.timeline->has_arrived();
    if (--flight.pieces_left != 0) return;
    uint64_t& told = told_at_[write.from * arena_.num_ranks() + write.to];
    if (told == 0 && arena_.region_of(write.offset, write.bytes) == WindowRegion::kAbort) told = shared_.now;
    --in_air_[write.from];
    free_.push_back(event.a);
    actors_.landed(members_[write.from]);
}

}  // namespace ascend_deepep::sim
