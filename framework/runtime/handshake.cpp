// SPDX-License-Identifier: Apache-2.0
//
// Comparing ranks at rendezvous. Layer: framework.
#include "framework/runtime/handshake.h"

#include <cstring>

#include "framework/runtime/status_payload.h"
#include "framework/runtime/targets.h"
#include "op_host/check.h"

namespace ascend_deepep {
namespace {

std::string rank_text(uint32_t rank) {
    return "rank " + std::to_string(rank);
}

// `name` differs between rank 0 and `rank`.
op_host::Status differs(uint32_t own, uint32_t rank, Field field, const char* name, const std::string& value,
                        const std::string& value0, const std::string& advice) {
    op_host::Status status = own_refusal(
        rank, Code::kNotEqual, field, 0, 0,
        std::string(name) + " is " + value0 + " on rank 0 and " + value + " on " + rank_text(rank) + ": " + advice);
    status.record.rank = own;
    return status;
}

op_host::Status cannot_take_part(const Handshake& peer, uint32_t rank, uint32_t own) {
    op_host::Status status;
    status.message = rank == own ? std::string(peer.reason) : rank_text(rank) + ": " + peer.reason;
    status.record.rank = own;
    if (peer.is_failure != 0) {
        status.record.code = Code::kQueueFault;
        status.record.root = rank;
    } else {
        status.refusal = peer.refusal;
        status.refusal.rank = rank;
    }
    return status;
}

op_host::Status compare_with_first(const Handshake& first, const Handshake& peer, uint32_t rank, uint32_t own) {
    const auto number = [](uint64_t value) { return std::to_string(value); };
    const char* equal = "pass the same value on all ranks";
    if (peer.layout_abi != first.layout_abi) {
        return differs(own, rank, Field::kLayoutAbi, "the layout ABI", number(peer.layout_abi),
                       number(first.layout_abi), "install the same release of ascend-deepep on all ranks");
    }
    if (std::strcmp(peer.target, first.target) != 0) {
        return differs(own, rank, Field::kNone, "the target", peer.target, first.target,
                       "a communicator runs on one target: pass the same on all ranks");
    }
    if (std::strcmp(peer.name, first.name) != 0) {
        return differs(own, rank, Field::kGroupEp, "the name", peer.name, first.name, equal);
    }
    op_host::Status limits = op_host::compare_limits(first.limits, peer.limits, rank);
    if (!limits.ok()) {
        limits.refusal.rank = rank;
        limits.record.rank = own;
        return limits;
    }
    if (peer.window_bytes != first.window_bytes) {
        return differs(own, rank, Field::kNone, "window_bytes", number(peer.window_bytes), number(first.window_bytes),
                       equal);
    }
    if (peer.timeout_ms != first.timeout_ms) {
        return differs(own, rank, Field::kNone, "timeout_ms", number(peer.timeout_ms), number(first.timeout_ms), equal);
    }
    if (peer.combine_engine != first.combine_engine) {
        const auto engine = [](uint32_t value) { return std::string(value == 0 ? "mte" : "urma"); };
        return differs(own, rank, Field::kNone, "combine_engine", engine(peer.combine_engine),
                       engine(first.combine_engine), equal);
    }
    if (peer.layout_hash != first.layout_hash) {
        return differs(own, rank, Field::kLayoutAbi, "the layout hash", number(peer.layout_hash),
                       number(first.layout_hash), "the ranks run different builds of ascend-deepep");
    }
    if (std::strcmp(first.target, op_host::kTwinTarget) != 0) return {};
    const std::string host = twin::host_difference(first.host, peer.host);
    if (!host.empty()) {
        op_host::Status status =
            own_refusal(rank, Code::kNotEqual, Field::kGroupEp, 0, 0,
                        "the twin runs on one host: " + rank_text(rank) + " is on " + host + " as rank 0");
        status.record.rank = own;
        return status;
    }
    return {};
}

}  // namespace

std::vector<Handshake> parse_handshakes(const std::vector<std::string>& gathered, uint32_t rank, uint32_t num_ranks) {
    if (gathered.size() != num_ranks) {
        throw CommunicatorError{
            own_refusal(rank, Code::kNotEqual, Field::kEpWorldSize, static_cast<int64_t>(gathered.size()), num_ranks,
                        "the exchange returned " + std::to_string(gathered.size()) + " answers for a communicator of " +
                            std::to_string(num_ranks) + " ranks: its group must have exactly these ranks")};
    }
    std::vector<Handshake> all(num_ranks);
    for (uint32_t i = 0; i < num_ranks; ++i) {
        Handshake& peer = all[i];
        const bool fits = gathered[i].size() == sizeof(Handshake);
        if (fits) std::memcpy(&peer, gathered[i].data(), sizeof(Handshake));
        if (!fits || peer.magic != kHandshakeMagic) {
            throw CommunicatorError{own_refusal(rank, Code::kNotEqual, Field::kLayoutAbi, 0, 0,
                                                rank_text(i) + " runs another release of ascend-deepep: install the "
                                                               "same one on all ranks")};
        }
        if (peer.rank != i) {
            throw CommunicatorError{own_refusal(rank, Code::kNotEqual, Field::kEpRankId, peer.rank, i,
                                                "the answer at place " + std::to_string(i) + " came from rank " +
                                                    std::to_string(peer.rank) + ": ranks are places in the group")};
        }
    }
    return all;
}

op_host::Status compare_handshakes(const std::vector<Handshake>& all, uint32_t rank) {
    // What this rank did wrong itself comes first: its caller can mend that.
    if (all[rank].refusal.code != Code::kOk || all[rank].is_failure != 0)
        return cannot_take_part(all[rank], rank, rank);
    for (uint32_t i = 0; i < all.size(); ++i) {
        if (all[i].refusal.code != Code::kOk || all[i].is_failure != 0) return cannot_take_part(all[i], i, rank);
    }
    for (uint32_t i = 1; i < all.size(); ++i) {
        const op_host::Status status = compare_with_first(all[0], all[i], i, rank);
        if (!status.ok()) return status;
    }
    return {};
}

}  // namespace ascend_deepep
