// SPDX-License-Identifier: Apache-2.0
// Accesses of kernels. Layer: twin/sim.
#include "twin/sim/rank.h"

#include <algorithm>
#include <cstring>

#include "twin/runtime/launch.h"
#include "twin/runtime/simt.h"
#include "twin/sim/checks/aborts.h"
#include "twin/sim/checks/closing.h"
#include "twin/sim/checks/unwritten.h"

namespace ascend_deepep::sim {
namespace {

constexpr uint64_t kSequenceLine =
    __builtin_offsetof(ControlPage, state) + __builtin_offsetof(OperationState, sequence);
constexpr uint64_t kAbortLine = __builtin_offsetof(ControlPage, abort_word);
constexpr uint64_t kClockStart = 1000000;  // no kernel may take 0 for the beginning of time
constexpr uint8_t kPoison = 0xA7;

twin::EngineConfig engine_config(const RankConfig& config, const WindowArena& arena) {
    twin::EngineConfig engine{};
    engine.rank = config.rank;
    engine.sq_depth = config.queue_depth;
    engine.cq_depth = config.cq_depth;
    engine.queues_per_peer = config.queues_per_peer;
    engine.first_index = config.first_index;
    engine.local_base = arena.window(config.rank);
    engine.window_bytes = arena.window_bytes();
    engine.is_stepped = true;
    for (uint32_t rank = 0; rank < config.nonces.size(); ++rank)
        engine.ranks.push_back(twin::fabric_address(rank, config.nonces[rank]));
    return engine;
}

uint64_t memory_bytes(const RankConfig& config) {
    return twin::UrmaEngine::memory_bytes(config.limits.num_ranks, config.queue_depth, config.cq_depth,
                                          config.queues_per_peer) +
           workspace_layout(config.limits).total_bytes + 2 * kPageBytes + config.limits.num_ranks * sizeof(uint64_t);
}

// Stretches beside the window (0) and the workspace (1).
uint64_t tensor_number(uint64_t kernel, uint64_t index, uint64_t bytes) {
    return ((kernel + 1) << 56) + (index << 48) + bytes;
}

}  // namespace

SimRank::SimRank(const RankConfig& config, Shared& shared, Actors& actors, WindowArena& arena, Wire& wire)
    : config_(config),
      shared_(shared),
      actors_(actors),
      arena_(arena),
      wire_(wire),
      line_base_(first_line(wire.number())),
      memory_(memory_bytes(config)),
      urma_(shared, wire, arena, engine_config(config, arena), memory_, config.process, config.seat) {
    const uint64_t workspace_bytes = workspace_layout(config.limits).total_bytes;
    window_table_ = reinterpret_cast<uint64_t*>(memory_.take(config.limits.num_ranks * sizeof(uint64_t), kUnitBytes));
    for (uint32_t peer = 0; peer < config.limits.num_ranks; ++peer)
        window_table_[peer] = reinterpret_cast<uint64_t>(arena.window(peer));
    workspace_ = memory_.take(workspace_bytes, kPageBytes);
    std::memset(workspace_, kPoison, workspace_bytes);
    memory_shadow_.reset(memory_.bytes(), false);
    memory_shadow_.mark(0, static_cast<uint64_t>(workspace_ - memory_.data()));
    page().state.tag_base = config.tag_base;
    cores_.reserve(config.num_cores);
    for (uint32_t core = 0; core < config.num_cores; ++core)
        cores_.emplace_back(shared, static_cast<GmSide&>(*this));
    is_landing_.assign(config.num_cores, 0);
}

void SimRank::launch(const char* name, void (*kernel)(uint8_t*), void* tiling, std::vector<twin::GmRange> ranges) {
    twin::LaunchConfig config;
    config.num_cores = config_.num_cores;
    config.kernel_name = name;
    ranges_ = std::move(ranges);
    kernel_ = kernel_number(name);
    is_launched_ = true;
    if (shared_.timeline != nullptr) shared_.timeline->call_begins(config_.process, name, shared_.now);
    if (shared_.meter != nullptr) shared_.meter->call_begins(config_.process, name, shared_.now);
    try {
        twin::launch_under(actors_, config, kernel, static_cast<uint8_t*>(tiling), *this);
    } catch (...) {  // the launch failed, or this host ends: nothing may land in tensors that are gone
        for (CoreMemory& core : cores_)
            core.forget();
        throw;
    }
    is_launched_ = false;
    for (CoreMemory& core : cores_)
        core.end_launch();
    ranges_.clear();
    if (shared_.timeline != nullptr) shared_.timeline->call_ends(config_.process, shared_.now);
    if (shared_.meter != nullptr) shared_.meter->call_ends(config_.process, page().times, shared_.now);
}

uint64_t SimRank::kernel_number(const std::string& name) {
    const auto found = std::find(kernels_.begin(), kernels_.end(), name);
    const auto number = static_cast<uint64_t>(found - kernels_.begin());
    if (found == kernels_.end()) kernels_.push_back(name);
    return number;
}

void SimRank::complete(uint32_t record) {
    const uint64_t line = line_base_ + kMemoryLine + urma_.complete(record);
    if (shared_.choices != nullptr) {
        shared_.choices->touches(SharedWords::kFabric, config_.process, line, kCqeBytes, true);
    }
    actors_.changes(config_.process, line, kCqeBytes);
    if (shared_.timeline != nullptr) shared_.timeline->has_arrived();
}

// As the twin's fabric does: a peer that had finished the operation in progress, or had told why it broke, owes
// nothing.
void SimRank::look(uint32_t gone) {
    if (!is_launched_) return;
    const OperationState& theirs = arena_.page(gone).state;
    if (theirs.sequence > page().state.sequence || theirs.is_broken != 0) return;
    if (page().abort_word.word != 0) return;
    page().abort_word.word = (uint64_t{static_cast<uint32_t>(Code::kPeerLost)} << 32) | (gone + 1);
    actors_.changes(config_.process, line_base_ + __builtin_offsetof(ControlPage, abort_word), sizeof(uint64_t));
}

bool SimRank::find(const void* p, size_t bytes, Place* place) {
    if (arena_.contains(p)) {
        const uint64_t offset = arena_.offset_of(p);
        if (arena_.rank_of(p) != config_.rank || offset + bytes > arena_.window_bytes()) return false;
        const GmWord word{0, arena_.window(config_.rank), arena_.window_bytes(), offset, static_cast<uint32_t>(bytes)};
        *place = {&arena_.shadow(config_.rank), "window", word, line_base_ + offset, false};
        return true;
    }
    const uint64_t at = reinterpret_cast<uint64_t>(p);
    const uint64_t in_memory = at - reinterpret_cast<uint64_t>(memory_.data());
    if (in_memory < memory_.bytes() && bytes <= memory_.bytes() - in_memory) {
        const GmWord word{1, memory_.data(), memory_.bytes(), in_memory, static_cast<uint32_t>(bytes)};
        *place = {&memory_shadow_, "workspace", word, line_base_ + kMemoryLine + in_memory, false};
        return true;
    }
    for (const twin::GmRange& range : ranges_) {
        const uint64_t offset = at - reinterpret_cast<uint64_t>(range.data);
        if (offset < range.bytes && bytes <= range.bytes - offset) {
            auto* data = static_cast<uint8_t*>(const_cast<void*>(range.data));
            const auto index = static_cast<uint64_t>(&range - ranges_.data());
            const uint64_t number = tensor_number(kernel_, index, range.bytes);
            const GmWord word{number, data, range.bytes, offset, static_cast<uint32_t>(bytes)};
            *place = {nullptr, "tensor", word, line_base_ + kTensorLine + index * kMemoryLine + offset, true};
            return true;
        }
    }
    return false;
}

void SimRank::refuse(const void* p, size_t bytes, bool write) const {
    const char* what = write ? "GM store" : "GM load";
    if (arena_.contains(p)) {
        twin::refuse(twin::rules::kOwnWindowOnly, what, arena_.rank_of(p), config_.rank, "use put_block");
    }
    twin::refuse(twin::rules::kGmKnownRange, what, bytes, 0,
                 "check the address; tensors are known with their exact sizes");
}

void SimRank::took(const Place& place, size_t bytes) {
    if (place.is_tensor) return;
    shared_.findings.report("unwritten",
                            unwritten_fault(*place.shadow, config_.rank, place.memory, place.word.offset, bytes));
}

// A word that code of the running core is about to load, store or change.
SimRank::Place SimRank::enter(const void* p, size_t bytes, bool write, bool is_atomic) {
    Place place;
    if (!find(p, bytes, &place)) refuse(p, bytes, write);
    if (is_weighed()) weigh_word(place, write, is_atomic);
    choice(place, bytes, write);
    show();
    // Which of two loads in one expression comes first is the compiler's choice: that one took place is what counts.
    shared_.trace.mix(TraceKind::kAccess, actors_.current_id(), write ? place.word.offset + 1 : 0);
    if (write && place.line == line_base_ + kSequenceLine) {
        const auto core = static_cast<uint32_t>(twin::current_core().index);
        shared_.findings.report("closing",
                                closing_fault(page(), config_.rank, actors_.busy_core(), storing_core(core)));
    }
    if (write && place.line == line_base_ + kAbortLine)
        shared_.findings.report("aborts", unrecorded_fault(page(), config_.rank));
    return place;
}

// Another core of which stores are under way; -1: none.
int32_t SimRank::storing_core(uint32_t core) const {
    for (uint32_t other = 0; other < cores_.size(); ++other) {
        if (other != core && cores_[other].has_posted()) return static_cast<int32_t>(other);
    }
    return -1;
}

CoreMemory& SimRank::running_core() {
    return cores_[static_cast<size_t>(twin::current_core().index)];
}

// Some posted stores of the core may be left: the next one lands some time from now.
void SimRank::has_posted(uint32_t core) {
    if (is_landing_[core] != 0 || !cores_[core].has_posted()) return;
    is_landing_[core] = 1;
    shared_.events.add(shared_.soon(shared_.schedule.store_ns), EventKind::kStore, config_.seat, core);
}

void SimRank::store_lands(uint32_t core) {
    is_landing_[core] = 0;
    if (shared_.timeline != nullptr) {  // whoever it wakes up was woken by this core
        const uint32_t actor = config_.process * (config_.num_cores + 1) + 1 + core;
        shared_.timeline->at(actor, shared_.now, cores_[core].own_word(page().cores[core].progress));
    }
    if (cores_[core].has_posted()) cores_[core].land_one();
    has_posted(core);
}

void SimRank::land(const PostedStore& store) {
    uint64_t value = 0;
    std::memcpy(&value, store.data, sizeof(value));
    if (store.is_register && urma_.store(store.at, value, store.bytes)) return;
    Place place;
    if (!find(store.at, store.bytes, &place)) refuse(store.at, store.bytes, true);
    shared_.trace.mix(TraceKind::kStore, config_.rank, place.word.offset);
    std::memcpy(store.at, store.data, store.bytes);
    if (place.is_tensor) return;
    if (store.stored_mask == ~uint64_t{0}) {
        place.shadow->mark(place.word.offset, store.bytes);
    } else {
        for (uint32_t byte = 0; byte < store.bytes; ++byte) {
            if ((store.stored_mask >> byte & 1) != 0) place.shadow->mark(place.word.offset + byte, 1);
        }
    }
    actors_.changes(config_.process, place.line, store.bytes);
}

bool SimRank::load(twin::GmPath path, const void* p, void* value, size_t bytes) {
    const Place place = enter(p, bytes, false);
    if (twin::current_simt_pointer == nullptr && !place.is_tensor) actors_.has_read(place.line, bytes);
    if (running_core().load(path, place.word, value)) return true;
    took(place, bytes);
    std::memcpy(value, p, bytes);
    return true;
}

bool SimRank::store(twin::GmPath path, void* p, const void* value, size_t bytes) {
    const Place place = enter(p, bytes, true);
    const bool is_simt = twin::current_simt_pointer != nullptr;
    running_core().store(path, place.word, value, is_simt ? twin::current_simt_pointer->thread() : 0);
    has_posted(static_cast<uint32_t>(twin::current_core().index));
    return true;
}

void SimRank::fence(twin::GmUnit unit) {
    if (unit == twin::GmUnit::kScalar) {
        if (is_weighed()) weigh(Meter::Count::kBarriers, cost(&Costs::barrier_ns));
        running_core().barrier();
    } else if (twin::current_simt_pointer != nullptr) {
        running_core().thread_fence(twin::current_simt_pointer->thread());
    }
}

void SimRank::clean(twin::GmUnit unit, const void* p) {
    Place place;
    if (p != nullptr && !find(p, 1, &place)) refuse(p, 1, true);
    running_core().clean(unit, p == nullptr ? nullptr : &place.word);
    has_posted(static_cast<uint32_t>(twin::current_core().index));
}

// The timeline learns which core does what comes next, when, and where it is.
void SimRank::show() {
    if (shared_.timeline == nullptr) return;
    const auto core = static_cast<uint32_t>(twin::current_core_pointer->index);
    shared_.timeline->at(actors_.current_id(), actors_.turn_ns(), cores_[core].own_word(page().cores[core].progress));
}

// A place where another actor may go on. In a search only one to a word that others use as well counts.
void SimRank::choice(const Place& place, size_t bytes, bool write) {
    touches(place, bytes, write);
    if (twin::current_simt_pointer != nullptr) return;
    actors_.choice(shared_.choices == nullptr || shared_.choices->is_shared(config_.process, place.line, bytes));
}

void SimRank::check_access(const void* p, size_t bytes, bool write) {
    Place place;
    if (!find(p, bytes, &place)) refuse(p, bytes, write);
}

void SimRank::access(const void* p, size_t bytes, bool write) {
    const Place place = enter(p, bytes, write, true);
    running_core().before_atomic(place.word.at(), place.word.bytes);
    if (place.is_tensor) return;
    if (write) {
        place.shadow->mark(place.word.offset, bytes);
        actors_.changes(config_.process, place.line, bytes);
    } else {
        took(place, bytes);
        actors_.has_read(place.line, bytes);
    }
}

void SimRank::copied(const void* p, size_t bytes, bool write) {
    show();
    Place place;
    if (!find(p, bytes, &place)) refuse(p, bytes, write);
    if (is_weighed()) weigh_copy(nullptr, bytes, write);
    shared_.trace.mix(TraceKind::kAccess, actors_.current_id(), place.word.offset * 2 + (write ? 1 : 0));
    touches(place, bytes, write);
    if (!write) {
        took(place, bytes);
    } else if (!place.is_tensor) {
        place.shadow->mark(place.word.offset, bytes);
        actors_.changes(config_.process, place.line, bytes);
    } else if (shared_.timeline != nullptr) {
        shared_.timeline->gives(actors_.current_id(), actors_.turn_ns());
    }
}

void SimRank::window_write(void* dst, const void* src, size_t bytes) {
    show();
    const uint32_t owner = arena_.rank_of(dst);
    const uint64_t offset = arena_.offset_of(dst);
    if (is_weighed()) weigh_copy(dst, bytes, true);
    if (owner != config_.rank) {
        wire_.put({config_.rank, owner, offset, bytes}, static_cast<const uint8_t*>(src));
        return;
    }
    Place place;
    if (!find(dst, bytes, &place)) refuse(dst, bytes, true);
    shared_.trace.mix(TraceKind::kAccess, actors_.current_id(), offset * 2 + 1);
    touches(place, bytes, true);
    wire_.check_overtaking({owner, owner, offset, bytes});
    std::memcpy(dst, src, bytes);
    place.shadow->mark(offset, bytes);
    actors_.changes(config_.process, place.line, bytes);
}

bool SimRank::device_store(void* address, uint64_t value, unsigned bytes) {
    show();
    if (!urma_.is_register(address)) return false;
    if (is_weighed()) weigh(Meter::Count::kDoorbells, cost(&Costs::store_ns));
    actors_.choice();
    running_core().store_register(address, value, bytes);
    has_posted(static_cast<uint32_t>(twin::current_core().index));
    return true;
}

int64_t SimRank::cycle() {
    actors_.has_read_clock();
    return static_cast<int64_t>(kClockStart + shared_.now);
}

}  // namespace ascend_deepep::sim
