// SPDX-License-Identifier: Apache-2.0
// Window accesses, deliveries and their faults, and what an idle rank looks at. Layer: twin/fabric.
#include "twin/fabric/fabric.h"

#include <time.h>

#include <cstddef>
#include <cstring>

#include "contract/tag.h"
#include "twin/fabric/block_copy.h"
#include "twin/runtime/flag_access.h"
#include "twin/runtime/kernel_fault.h"

namespace ascend_deepep::twin {
namespace {

// Rows of a call up to which writing through the caches is the faster way: measured, between 8 and 32 tokens of 7168
// elements to 8 experts, where a core's own cache holds 2 MiB.
constexpr uint64_t kCachedBytes = uint64_t{2} << 20;
constexpr uint64_t kCheckEveryNs = 100'000'000;

uint64_t now_ns() {
    timespec now;
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000ULL + static_cast<uint64_t>(now.tv_nsec);
}

EngineConfig engine_config(const FabricConfig& config, const WindowTable& windows) {
    EngineConfig engine{};
    engine.rank = config.rank;
    engine.sq_depth = config.queue_depth;
    engine.cq_depth = config.queue_depth;
    engine.queues_per_peer = config.queues_per_peer;
    engine.local_base = windows.window(config.rank);
    engine.window_bytes = windows.window_bytes();
    engine.is_stepped = config.is_stepped;
    for (uint32_t rank = 0; rank < config.nonces.size(); ++rank) {
        engine.ranks.push_back(fabric_address(rank, config.nonces[rank]));
    }
    return engine;
}

}  // namespace

Fabric::Fabric(const FabricConfig& config, std::unique_ptr<WindowTable> windows, Memory& memory)
    : config_(config),
      windows_(std::move(windows)),
      own_window_(windows_->window(config.rank)),
      memory_(memory),
      liveness_(config.pids),
      waiter_(*windows_, config.rank),
      engine_(engine_config(config, *windows_), memory, *this),
      meter_(config.layout),
      huge_pages_(windows_->window(config.rank), windows_->window_bytes()) {
    set_state(OwnerState::kLive);
}

void Fabric::set_state(OwnerState state) {
    uint32_t* word = &windows_->shared(config_.rank).state;
    if (load_state(word) == static_cast<uint32_t>(OwnerState::kFailed)) return;
    store_state(word, static_cast<uint32_t>(state));
}

void Fabric::begin(OperationKind kind, std::vector<GmRange> ranges, const OperationSize& size) {
    kind_ = kind;
    writes_past_caches_ = size.row_bytes > kCachedBytes;
    if (writes_past_caches_) {
        for (const Region& range : size.window_ranges)
            huge_pages_.prepare(range);
    }
    ranges_ = std::move(ranges);
    ranges_.push_back({memory_.data(), memory_.bytes()});
    doorbells_at_begin_ = engine_.doorbells();
    next_check_ns_ = now_ns() + kCheckEveryNs;
}

void Fabric::end() {
    waiter_.flush();
    const uint64_t doorbells = engine_.doorbells() - doorbells_at_begin_;
    Traffic& totals = meter_.totals();
    (kind_ == OperationKind::kDispatch ? totals.doorbells_dispatch : totals.doorbells_combine) += doorbells;
    ranges_.clear();
}

void Fabric::window_write(void* dst, const void* src, size_t bytes) {
    auto* to = static_cast<uint8_t*>(dst);
    const auto* from = static_cast<const uint8_t*>(src);
    if (is_in_own_window(dst, bytes)) {
        put(config_.rank, to, from, bytes, false);
        return;
    }
    const uint32_t owner = windows_->rank_of(dst);
    const uint64_t offset = windows_->offset_of(dst);
    require(offset + bytes <= windows_->window_bytes(), rules::kPutInside, "window write", offset + bytes,
            windows_->window_bytes(), "check the offset against the window layout");
    require((offset | bytes) % kBlockBytes == 0, rules::kPutWholeBlocks, "put_block", (offset | bytes) % kBlockBytes, 0,
            "compose the block with its flag area in UB and put it in one copy");
    const WindowRegion region = meter_.count(offset, bytes);
    require(region != WindowRegion::kCount, rules::kPutRegion, "put_block", offset, windows_->window_bytes(),
            "check the offset against the window layout");
    if (region == WindowRegion::kControlRing && fault_.strike_control()) return;
    put(owner, to, from, bytes, writes_past_caches_);
    waiter_.note_write(owner);
}

void Fabric::put(uint32_t owner, uint8_t* dst, const uint8_t* src, size_t bytes, bool past_caches) {
    if (__builtin_expect(capture_ != nullptr, 0)) {
        put_watched(owner, dst, src, bytes, past_caches);
    } else {
        write_window(dst, src, bytes, past_caches);
    }
}

void Fabric::put_watched(uint32_t owner, uint8_t* dst, const uint8_t* src, size_t bytes, bool past_caches) {
    CaptureEvent event{};
    event.from_ns = Capture::now_ns();
    write_window(dst, src, bytes, past_caches);
    event.offset = windows_->offset_of(dst);
    if (!is_for_peers(meter_.region_of(event.offset, bytes))) return;  // blocks that are only staged
    event.to_ns = Capture::now_ns();
    event.bytes = static_cast<uint32_t>(bytes);
    event.peer = owner;
    capture_->add(CaptureKind::kPut, event);
}

void Fabric::set_capture(Capture* capture) {
    capture_ = capture;
    engine_.set_capture(capture);
}

// A core's progress word says which stage it enters.
void Fabric::note_store(const void* addr, uint64_t value) {
    const uint64_t at = reinterpret_cast<uint64_t>(addr) - reinterpret_cast<uint64_t>(control_page().cores);
    if (at < sizeof(ControlPage::cores) && at % sizeof(CoreCell) == offsetof(CoreCell, progress)) {
        capture_->enters(static_cast<uint32_t>(at / sizeof(CoreCell)), flag_value(value));
    }
}

// Data that was put by a rank, not looks at flag areas.
void Fabric::note_read(const void* src, uint64_t bytes, uint64_t piece_bytes) {
    const uint64_t offset = windows_->offset_of(src);
    const uint64_t in_block = offset % kBlockBytes;
    if (in_block >= kBlockDataBytes) return;
    if (!is_for_peers(meter_.region_of(offset, piece_bytes))) return;
    CaptureEvent event{};
    event.from_ns = event.to_ns = Capture::now_ns();
    event.offset = offset;
    event.bytes = static_cast<uint32_t>(bytes);
    capture_->add(CaptureKind::kRead, event);
}

void Fabric::require_readable(const void* src, size_t bytes) const {
    require(is_in_own_window(src, bytes), rules::kOwnWindowOnly, "window read", windows_->offset_of(src) + bytes,
            windows_->window_bytes(), "let the peer put what is needed");
}

void Fabric::window_read(void* dst, const void* src, size_t bytes) {
    require_readable(src, bytes);
    if (capture_ != nullptr) note_read(src, bytes, bytes);
    read_window(static_cast<uint8_t*>(dst), static_cast<const uint8_t*>(src), bytes);
}

void Fabric::window_read_pieces(const Pieces& pieces) {
    require_readable(pieces.src, pieces.bytes);
    require_readable(pieces.src + pieces.src_step * (pieces.count - 1), pieces.bytes);
    if (capture_ != nullptr) note_read(pieces.src, uint64_t{pieces.bytes} * pieces.count, pieces.bytes);
    read_window(pieces);
}

void Fabric::check_access(const void* p, size_t bytes, bool write) {
    if (last_range_ < ranges_.size() && ranges_[last_range_].holds(p, bytes)) return;
    if (windows_->contains(p)) return;  // words: require_own_window; copies: window_write, window_read
    for (size_t i = 0; i < ranges_.size(); ++i) {
        if (ranges_[i].holds(p, bytes)) {
            last_range_ = i;
            return;
        }
    }
    raise_fault({write ? "GM store" : "GM load",
                 &rules::kGmKnownRange,
                 bytes,
                 ranges_.size(),
                 "check the address; tensors are known with their exact sizes",
                 {nullptr, 0},
                 p});
}

void Fabric::step() {
    engine_.run_one_each();
    waiter_.flush();
}

void Fabric::idle() {
    waiter_.flush();
    if (engine_.has_pending()) return;
    const uint64_t now = now_ns();
    if (now >= next_check_ns_) {
        next_check_ns_ = now + kCheckEveryNs;
        check_world();
    }
    if (abort_requested_.load(std::memory_order_relaxed)) abort(Code::kPeerAborted, config_.rank);
    waiter_.wait();
}

void Fabric::check_world() {
    if (config_.interrupted && config_.interrupted()) {
        was_interrupted_ = true;
        abort_requested_.store(true, std::memory_order_relaxed);
        return;
    }
    std::vector<bool> is_gone(windows_->num_ranks(), false);
    for (uint32_t rank : liveness_.gone())
        is_gone[rank] = true;
    for (uint32_t peer = 0; peer < windows_->num_ranks(); ++peer) {
        if (peer == config_.rank) continue;
        const Code code = peer_failure(peer, is_gone[peer]);
        if (code != Code::kOk) {
            abort(code, peer);
            return;
        }
    }
}

// A peer that left after it had finished the operation in progress owes nothing: all its writes have landed. One that
// left a broken communicator has posted an abort message, and that one names the root.
Code Fabric::peer_failure(uint32_t peer, bool is_gone) const {
    const auto state = static_cast<OwnerState>(load_state(&windows_->shared(peer).state));
    if (!is_gone && state == OwnerState::kLive) return Code::kOk;
    const auto& theirs = reinterpret_cast<const ControlPage*>(windows_->window(peer))->state;
    const auto& own = reinterpret_cast<const ControlPage*>(windows_->window(config_.rank))->state;
    if (load_tag(&theirs.sequence) > load_tag(&own.sequence) || load_tag(&theirs.is_broken) != 0) return Code::kOk;
    return state == OwnerState::kFailed ? Code::kPeerAborted : Code::kPeerLost;
}

void Fabric::abort(Code code, uint32_t root) {
    uint64_t* word = &control_page().abort_word.word;
    if (load_tag(word) == 0) store_tag(word, (static_cast<uint64_t>(code) << 32) | (root + 1));
}

bool Fabric::is_dispatch_half(uint64_t offset) const {
    for (WindowRegion half : {WindowRegion::kDispatchHalf0, WindowRegion::kDispatchHalf1}) {
        const Region& region = config_.layout.regions[static_cast<uint32_t>(half)];
        if (offset >= region.offset && offset - region.offset < region.bytes) return true;
    }
    return false;
}

CqeStatus Fabric::deliver(uint32_t peer, uint64_t remote_offset, const uint8_t* source, uint32_t bytes) {
    const bool is_copy = is_dispatch_half(remote_offset);
    Traffic& totals = meter_.totals();
    ++(is_copy ? totals.wqes_dispatch : totals.wqes_combine);
    const FaultKind fault = is_copy ? fault_.strike_copy() : FaultKind::kNone;
    if (fault == FaultKind::kBadCqe) return CqeStatus::kRemoteAccess;
    if (meter_.count(remote_offset, bytes) == WindowRegion::kCount) return CqeStatus::kRemoteAccess;
    if (fault != FaultKind::kNone) {
        deliver_faulty(fault, peer, remote_offset, source, bytes);
    } else {
        write_window(windows_->window(peer) + remote_offset, source, bytes, writes_past_caches_);
    }
    waiter_.note_write(peer);
    return CqeStatus::kOk;
}

void Fabric::deliver_faulty(FaultKind fault, uint32_t peer, uint64_t remote_offset, const uint8_t* source,
                            uint32_t bytes) {
    std::vector<uint8_t> copy(source, source + bytes);
    uint64_t offset = remote_offset;
    switch (fault) {
        case FaultKind::kDropWqe:
            return;
        case FaultKind::kFlipBit: {
            // The smallest hidden state is 128 B: the bit is one of it whatever the call's hidden is.
            const uint64_t bit = fault_.draw(uint64_t{kMinHidden} * kElementBytes * 8);
            copy[bit / 8] = static_cast<uint8_t>(copy[bit / 8] ^ (1U << (bit % 8)));
            break;
        }
        case FaultKind::kStaleFlag: {
            uint8_t* flag = copy.data() + flag_offset(fault_.draw(bytes / kBlockBytes));
            uint64_t tag;
            std::memcpy(&tag, flag, sizeof(tag));
            --tag;
            std::memcpy(flag, &tag, sizeof(tag));
            break;
        }
        case FaultKind::kSwapSlots: {
            const uint64_t source_bytes = uint64_t{config_.layout.copies_per_source} * config_.layout.token_slot_bytes;
            const bool is_last = config_.rank + 1 == windows_->num_ranks();
            offset = is_last ? offset - source_bytes : offset + source_bytes;
            break;
        }
        case FaultKind::kLateFlag:
            for (uint32_t i = 0; i < kBlockDataBytes; ++i)
                copy[i] = static_cast<uint8_t>(~copy[i]);
            break;
        case FaultKind::kNone:
        case FaultKind::kDropControl:
        case FaultKind::kBadCqe:
            break;
    }
    write_window(windows_->window(peer) + offset, copy.data(), bytes);
}

}  // namespace ascend_deepep::twin
