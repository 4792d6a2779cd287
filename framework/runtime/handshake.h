// SPDX-License-Identifier: Apache-2.0
//
// What ranks tell each other at rendezvous, and the comparison that every rank makes with the same result.
// Layer: framework. A rank that cannot take part says so here, so that nobody waits for it.
#ifndef ASCEND_DEEPEP_FRAMEWORK_RUNTIME_HANDSHAKE_H
#define ASCEND_DEEPEP_FRAMEWORK_RUNTIME_HANDSHAKE_H

#include <string>
#include <vector>

#include "framework/runtime/communicator.h"
#include "twin/fabric/host.h"

namespace ascend_deepep {

constexpr uint32_t kHandshakeMagic = 0xA5CE0002U;  // raised with every change of Handshake

// What a rank on a device says of its endpoint (framework/npu/endpoint.h). All zero on the twin.
struct DeviceHandshake {
    uint64_t endpoint_id;     // 0: this process has none yet
    uint32_t endpoint_rank;   // its place in the endpoint, which may not be that in the group
    uint32_t endpoint_ranks;  // size of the endpoint
    uint64_t heap_bytes;      // of the endpoint, or wanted for it
    uint64_t first_free;      // lowest offset of the heap where the window fits
    uint64_t top_free;        // offset behind all windows
    uint8_t unique_id[136];   // rank 0 without an endpoint: the id that all ranks start theirs with
};

struct Handshake {
    uint32_t magic;
    uint32_t layout_abi;
    uint64_t layout_hash;
    CommunicatorLimits limits;
    uint32_t rank;
    uint32_t timeout_ms;
    uint32_t queue_depth;
    uint32_t combine_engine;
    int32_t pid;
    uint32_t reserved;
    uint64_t window_bytes;
    uint64_t nonce;
    twin::HostIdentity host;
    char target[16];
    char name[kMaxNameLength + 1];
    DeviceHandshake device;
    char socket_name[96];
    Refusal refusal;      // why this rank cannot take part; code kOk: it can
    uint32_t is_failure;  // 1: the reason is an error of its system, not of an argument
    char reason[1020];
};

// Copies `text` into a fixed field, cut to fit.
template <size_t kSize>
void set_text(char (&field)[kSize], const std::string& text) {
    const size_t size = text.size() < kSize ? text.size() : kSize - 1;
    text.copy(field, size);
    field[size] = '\0';
}

// All ranks' handshakes from the bytes that the exchange returned; throws CommunicatorError when they are not such.
std::vector<Handshake> parse_handshakes(const std::vector<std::string>& gathered, uint32_t rank, uint32_t num_ranks);

// The first reason, in rank order, why these ranks cannot form a communicator; ok() when they can.
op_host::Status compare_handshakes(const std::vector<Handshake>& all, uint32_t rank);

}  // namespace ascend_deepep

#endif  // ASCEND_DEEPEP_FRAMEWORK_RUNTIME_HANDSHAKE_H
