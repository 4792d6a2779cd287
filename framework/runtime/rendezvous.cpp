// SPDX-License-Identifier: Apache-2.0
//
// Shared steps of a rendezvous. Layer: framework.
#include "framework/runtime/rendezvous.h"

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>

#include "op_host/check.h"
#include "op_host/sizes.h"
#include "twin/fabric/system_error.h"

namespace ascend_deepep {

uint64_t random_number() {
    uint64_t value;
    if (::getrandom(&value, sizeof(value), 0) != sizeof(value)) twin::raise_system_error("getrandom failed");
    return value;
}

void refuse_unless(bool holds, uint32_t rank, Code code, int64_t got, int64_t limit, const std::string& message) {
    if (!holds) throw CommunicatorError{own_refusal(rank, code, Field::kNone, got, limit, message)};
}

void complete_options(CommunicatorOptions* options, uint32_t cores) {
    const uint32_t rank = options->rank;
    if (options->num_cores == 0) options->num_cores = cores;
    if (options->timeout_ms == 0) options->timeout_ms = CommunicatorOptions{}.timeout_ms;
    if (options->queues_per_peer == 0) options->queues_per_peer = 1;
    op_host::Status status = op_host::check_limits(options->limits, options->num_cores, options->window_bytes);
    if (status.ok()) status = op_host::check_queues_per_peer(options->queues_per_peer);
    if (status.ok()) status = op_host::parse_roles(options->roles, &options->role_counts);
    if (status.ok()) {
        status = op_host::check_roles(options->role_counts, options->num_cores, options->limits.num_ranks,
                                      options->queues_per_peer);
    }
    if (!status.ok()) {
        status.refusal.rank = rank;
        throw CommunicatorError{status};
    }
    refuse_unless(rank < options->limits.num_ranks, rank, Code::kOutOfRange, rank, options->limits.num_ranks - 1,
                  "rank is " + std::to_string(rank) + " in a group of " + std::to_string(options->limits.num_ranks));
    const uint64_t required = op_host::required_window_bytes(options->limits);
    options->window_bytes = align_up(std::max(options->window_bytes, required), kPageBytes);
}

void set_reason(Handshake* handshake, const op_host::Status& status) {
    handshake->refusal = status.refusal;
    handshake->is_failure = status.record.code != Code::kOk ? 1 : 0;
    set_text(handshake->reason, status.message);
}

void fill_handshake(const CommunicatorOptions& options, bool is_complete, Handshake* handshake) {
    handshake->magic = kHandshakeMagic;
    handshake->layout_abi = kLayoutAbi;
    handshake->limits = options.limits;
    handshake->rank = options.rank;
    handshake->timeout_ms = options.timeout_ms;
    handshake->queue_depth = options.queue_depth;
    handshake->combine_engine = static_cast<uint32_t>(options.combine_engine);
    handshake->pid = ::getpid();
    handshake->window_bytes = options.window_bytes;
    handshake->host = twin::host_identity();
    set_text(handshake->target, options.target);
    set_text(handshake->name, options.name);
    if (is_complete) handshake->layout_hash = op_host::layout_hash(options.limits);
}

std::vector<Handshake> exchange_handshakes(const Handshake& own, const CommunicatorOptions& options,
                                           const AllGather& all_gather) {
    const std::string bytes(reinterpret_cast<const char*>(&own), sizeof(Handshake));
    const std::vector<Handshake> all = parse_handshakes(all_gather(bytes), options.rank, options.limits.num_ranks);
    const op_host::Status status = compare_handshakes(all, options.rank);
    if (!status.ok()) throw CommunicatorError{status};
    return all;
}

uint64_t tag_base(const std::vector<Handshake>& all, uint32_t tag_low) {
    uint64_t sum = 0;
    for (const Handshake& peer : all)
        sum = (sum ^ peer.nonce) * 0x9E3779B97F4A7C15ULL;
    const uint64_t high = std::max<uint64_t>(sum >> 32, 1);
    return (high << 32) + tag_low;
}

}  // namespace ascend_deepep
