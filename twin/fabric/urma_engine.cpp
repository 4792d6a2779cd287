// SPDX-License-Identifier: Apache-2.0
// Rings, doorbells, checks and completions of the URMA engine. Layer: twin/fabric.
// WQE and CQE formats: op_kernel/contract/arch35.
#include "twin/fabric/urma_engine.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "contract/block.h"
#include "contract/limits.h"

namespace ascend_deepep::twin {
namespace {

constexpr uint64_t kRegisterStride = 64;  // one queue's registers
constexpr uint64_t kSqRegister = 0;
constexpr uint64_t kCqRegister = 8;
constexpr uint64_t kPage = 4096;
constexpr uint32_t kFabricBaseShift = 40;  // a window is below 1 TiB
constexpr uint32_t kJettyType = 1;
constexpr uint32_t kTokenEnable = 1;
constexpr uint32_t kTpnNumberShift = 22;  // two bits for the number of a queue to its peer, of the 24 of a TPN
static_assert(kMaxQueuesPerPeer == 1U << 2);

uint64_t mix(uint64_t value) {
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9ULL;
    value = (value ^ (value >> 27)) * 0x94D049BB133111EBULL;
    return value ^ (value >> 31);
}

bool is_inside(uint64_t address, uint64_t length, uint64_t base, uint64_t bytes) {
    return address >= base && length <= bytes && address - base <= bytes - length;
}

}  // namespace

FabricAddress fabric_address(uint32_t rank, uint64_t nonce) {
    FabricAddress address{};
    address.base = (uint64_t{rank} + 1) << kFabricBaseShift;
    const uint64_t bits = mix(nonce);
    address.tpn = (rank + 1) | (static_cast<uint32_t>(bits & 0xFFFU) << 12);
    address.segment = static_cast<uint32_t>(bits >> 12) & 0xFFFFFU;
    address.token = static_cast<uint32_t>(bits >> 32) | 1U;
    address.jetty_type = kJettyType;
    address.target_hint = rank & 0xFFU;
    for (uint32_t i = 0; i < 4; ++i)
        address.eid[i] = static_cast<uint32_t>(mix(nonce + i + 1));
    return address;
}

uint64_t UrmaEngine::memory_bytes(uint32_t num_ranks, uint32_t sq_depth, uint32_t cq_depth, uint32_t queues_per_peer) {
    const uint64_t num_queues = uint64_t{num_ranks} * queues_per_peer;
    const uint64_t rings = num_queues * (uint64_t{sq_depth} * kWqeBytes + uint64_t{cq_depth} * kCqeBytes);
    return align_up(num_queues * kQueueContextStride, kBlockBytes) + align_up(rings, kBlockBytes) + kPage;
}

UrmaEngine::UrmaEngine(const EngineConfig& config, Memory& memory, WriteSink& sink)
    : config_(config), sink_(sink), queues_(config.ranks.size() * config.queues_per_peer) {
    registers_bytes_ = align_up(num_queues() * kRegisterStride, kPage);
    void* page = ::mmap(nullptr, registers_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (page == MAP_FAILED) raise_system_error("reserving addresses for doorbell registers failed");
    registers_ = reinterpret_cast<uint64_t>(page);
    table_ = memory.take(num_queues() * kQueueContextStride, kBlockBytes);
    for (uint32_t queue = 0; queue < num_queues(); ++queue)
        open(queue, memory);
}

void UrmaEngine::open(uint32_t queue, Memory& memory) {
    auto* context = reinterpret_cast<QueueContext*>(table_ + queue * kQueueContextStride);
    const FabricAddress& address = config_.ranks[peer_of(queue)];
    *context = QueueContext{};
    context->sq_base = reinterpret_cast<uint64_t>(memory.take(uint64_t{config_.sq_depth} * kWqeBytes, kWqeBytes));
    context->sq_doorbell = registers_ + queue * kRegisterStride + kSqRegister;
    context->cq_base = reinterpret_cast<uint64_t>(memory.take(uint64_t{config_.cq_depth} * kCqeBytes, kCqeBytes));
    context->cq_doorbell = registers_ + queue * kRegisterStride + kCqRegister;
    context->remote_base = address.base;
    context->remote_bytes = config_.window_bytes;
    context->sq_depth = config_.sq_depth;
    context->cq_depth = config_.cq_depth;
    context->tpn = tpn_of(queue);
    context->remote_segment = address.segment;
    context->remote_token = address.token;
    context->token_enable = kTokenEnable;
    context->jetty_type = address.jetty_type;
    context->target_hint = address.target_hint;
    context->local_token = config_.ranks[config_.rank].token;
    std::memcpy(context->remote_eid, address.eid, sizeof(address.eid));
    if (config_.first_index != 0) age(queue);
}

// Each queue to a peer ends in a queue of its own there, so WQEs of one are no WQEs of another.
uint32_t UrmaEngine::tpn_of(uint32_t queue) const {
    return config_.ranks[peer_of(queue)].tpn ^ ((queue % config_.queues_per_peer) << kTpnNumberShift);
}

// Every slot of the rings has the owner bit of the last entry that it held.
void UrmaEngine::age(uint32_t queue) {
    const uint32_t first = config_.first_index;
    queues_[queue] = {first, first, first, first, WqeFault::kNone};
    auto* context = reinterpret_cast<QueueContext*>(table_ + queue * kQueueContextStride);
    context->posted = first;
    context->consumed = first;
    for (uint32_t back = 1; back <= config_.sq_depth; ++back) {
        const uint32_t word = wqe_owner(first - back, config_.sq_depth) << kWqeOwnerBit;
        const uint64_t slot = (first - back) & (config_.sq_depth - 1);
        std::memcpy(reinterpret_cast<uint8_t*>(context->sq_base) + slot * kWqeBytes, &word, sizeof(word));
    }
    for (uint32_t back = 1; back <= config_.cq_depth; ++back) {
        const uint32_t word = cqe_owner(first - back, config_.cq_depth) << kCqeOwnerBit;
        const uint64_t slot = (first - back) & (config_.cq_depth - 1);
        std::memcpy(reinterpret_cast<uint8_t*>(context->cq_base) + slot * kCqeBytes, &word, sizeof(word));
    }
}

UrmaEngine::~UrmaEngine() {
    ::munmap(reinterpret_cast<void*>(registers_), registers_bytes_);
}

void UrmaEngine::ring(uint64_t at, uint32_t value) {
    const uint64_t queue = at / kRegisterStride, reg = at % kRegisterStride;
    if (queue >= queues_.size()) return;  // the rest of the register page: a store there is lost, as on the device
    if (reg == kSqRegister) ring_sq(static_cast<uint32_t>(queue), value);
    if (reg == kCqRegister) ring_cq(static_cast<uint32_t>(queue), value);
}

void UrmaEngine::ring_sq(uint32_t queue, uint32_t producer) {
    Queue& state = queues_[queue];
    ++doorbells_;
    if (capture_ != nullptr) capture_->rings(queue, peer_of(queue), producer);
    if (state.is_stopped()) return;
    if (producer - state.consumed > config_.sq_depth || producer - state.consumed < state.rung - state.consumed) {
        complete(queue, state.consumed, {CqeStatus::kBadWqe, WqeFault::kOverrun}, 0);
        stop(queue, WqeFault::kOverrun);
        return;
    }
    num_pending_ += producer - state.rung;
    state.rung = producer;
    if (config_.is_stepped) return;
    while (!state.is_stopped() && state.consumed != state.rung)
        execute_one(queue);
}

void UrmaEngine::ring_cq(uint32_t queue, uint32_t consumer) {
    Queue& state = queues_[queue];
    // The register has 24 bits: the index is the one within that distance behind the producer.
    const uint32_t behind = (state.cq_produced - consumer) & kCqDoorbellMask;
    if (behind > state.cq_produced - state.cq_consumed) {  // moves back, or past what was completed
        stop(queue, WqeFault::kCqIndex);
        return;
    }
    state.cq_consumed = state.cq_produced - behind;
}

void UrmaEngine::run_one_each() {
    for (uint32_t queue = 0; num_pending_ != 0 && queue < queues_.size(); ++queue) {
        if (!queues_[queue].is_stopped() && queues_[queue].consumed != queues_[queue].rung) execute_one(queue);
    }
}

uint32_t UrmaEngine::take(uint32_t queue) {
    --num_pending_;
    ++wqes_;
    return queues_[queue].consumed++;
}

UrmaEngine::Verdict UrmaEngine::read(uint32_t queue, uint32_t index, WqeFields* wqe) const {
    uint32_t words[kWqeWords];
    const uint64_t slot = index & (config_.sq_depth - 1);
    std::memcpy(words, reinterpret_cast<const uint8_t*>(context(queue).sq_base) + slot * kWqeBytes, kWqeBytes);
    *wqe = decode_wqe(words);
    return check(queue, *wqe, index);
}

void UrmaEngine::move(uint32_t queue, const WqeFields& wqe, Verdict* verdict) {
    if (verdict->status != CqeStatus::kOk) return;
    const auto* source = reinterpret_cast<const uint8_t*>(wqe.local_address);
    verdict->status = sink_.deliver(peer_of(queue), remote_offset(queue, wqe), source, wqe.length);
    if (verdict->status != CqeStatus::kOk) verdict->fault = WqeFault::kInjected;
}

void UrmaEngine::execute_one(uint32_t queue) {
    if (capture_ != nullptr) {
        execute_watched(queue);
        return;
    }
    const uint32_t index = take(queue);
    WqeFields wqe;
    Verdict verdict = read(queue, index, &wqe);
    move(queue, wqe, &verdict);
    complete(queue, index, verdict, wqe.length);
}

void UrmaEngine::execute_watched(uint32_t queue) {
    CaptureEvent event{};
    event.from_ns = Capture::now_ns();
    event.queue = queue;
    event.peer = peer_of(queue);
    event.index = take(queue);
    WqeFields wqe;
    Verdict verdict = read(queue, event.index, &wqe);
    move(queue, wqe, &verdict);
    event.executed_ns = Capture::now_ns();
    if (verdict.status == CqeStatus::kOk) {  // else nothing was written
        event.offset = remote_offset(queue, wqe);
        event.bytes = wqe.length;
    }
    complete(queue, event.index, verdict, wqe.length);
    event.to_ns = Capture::now_ns();
    capture_->add(CaptureKind::kWqe, event);
}

UrmaEngine::Verdict UrmaEngine::check(uint32_t queue, const WqeFields& wqe, uint32_t index) const {
    const auto bad = [](WqeFault fault) { return Verdict{CqeStatus::kBadWqe, fault}; };
    const FabricAddress& remote = config_.ranks[peer_of(queue)];
    if (wqe.owner != wqe_owner(index, config_.sq_depth)) return bad(WqeFault::kOwner);
    if (wqe.opcode != static_cast<uint32_t>(WqeOpcode::kWrite)) return bad(WqeFault::kOpcode);
    if (wqe.num_sge != 1) return bad(WqeFault::kNumSge);
    if (wqe.completion != 1) return bad(WqeFault::kCompletion);
    if (wqe.jetty_type != remote.jetty_type || wqe.target_hint != remote.target_hint) return bad(WqeFault::kJetty);
    if (wqe.length == 0 || wqe.length % kBlockBytes != 0) return bad(WqeFault::kLength);
    if (wqe.tpn != tpn_of(queue)) return {CqeStatus::kRemoteAccess, WqeFault::kTpn};
    if (!std::equal(wqe.remote_eid, wqe.remote_eid + 4, remote.eid)) return {CqeStatus::kRemoteAccess, WqeFault::kEid};
    if (wqe.segment != remote.segment) return {CqeStatus::kRemoteAccess, WqeFault::kSegment};
    if (wqe.token_enable != kTokenEnable || wqe.remote_token != remote.token) {
        return {CqeStatus::kBadToken, WqeFault::kToken};
    }
    if (wqe.local_token != config_.ranks[config_.rank].token) return {CqeStatus::kBadToken, WqeFault::kLocalToken};
    const uint64_t local_base = reinterpret_cast<uint64_t>(config_.local_base);
    if (!is_inside(wqe.local_address, wqe.length, local_base, config_.window_bytes) ||
        wqe.local_address % kBlockBytes != 0) {
        return {CqeStatus::kLocalAccess, WqeFault::kLocalRange};
    }
    if (!is_inside(wqe.remote_address, wqe.length, remote.base, config_.window_bytes) ||
        wqe.remote_address % kBlockBytes != 0) {
        return {CqeStatus::kRemoteAccess, WqeFault::kRemoteRange};
    }
    return {};
}

void UrmaEngine::complete(uint32_t queue, uint32_t index, const Verdict& verdict, uint32_t bytes) {
    Queue& state = queues_[queue];
    auto* ring = reinterpret_cast<uint8_t*>(context(queue).cq_base);
    uint32_t status = static_cast<uint32_t>(verdict.status), substatus = static_cast<uint32_t>(verdict.fault);
    if (state.cq_produced - state.cq_consumed >= config_.cq_depth) {
        // No room: the newest completion, which nobody has consumed yet, turns into the error, and the queue stops.
        --state.cq_produced;
        status = static_cast<uint32_t>(CqeStatus::kLost);
        substatus = static_cast<uint32_t>(WqeFault::kCqOverrun);
        stop(queue, WqeFault::kCqOverrun);
    }
    const uint32_t produced = state.cq_produced++;
    uint32_t words[kCqeWords] = {};
    words[0] =
        cqe_word0(cqe_owner(produced, config_.cq_depth), static_cast<uint32_t>(WqeOpcode::kWrite), substatus, status);
    words[1] = index & (config_.sq_depth - 1);
    words[3] = tpn_of(queue);
    words[4] = bytes;
    std::memcpy(ring + uint64_t{produced & (config_.cq_depth - 1)} * kCqeBytes, words, kCqeBytes);
}

void UrmaEngine::stop(uint32_t queue, WqeFault why) {
    Queue& state = queues_[queue];
    state.stopped_by = why;
    num_pending_ -= state.rung - state.consumed;
    state.consumed = state.rung;
}

}  // namespace ascend_deepep::twin
