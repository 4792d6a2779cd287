// SPDX-License-Identifier: Apache-2.0
//
// The 64 B URMA work queue element of a WRITE: 48 B control and one 16 B scatter element. Layer: contract.
// Encoders return one word each, because SIMT functions may not return structures; decode is the engine's side.
#ifndef ASCEND_DEEPEP_CONTRACT_ARCH35_WQE_H
#define ASCEND_DEEPEP_CONTRACT_ARCH35_WQE_H

#include <cstdint>

namespace ascend_deepep {

constexpr uint32_t kWqeBytes = 64;  // one base block of the ring
constexpr uint32_t kWqeWords = kWqeBytes / sizeof(uint32_t);
constexpr uint32_t kMinQueueDepth = 4;
constexpr uint32_t kMaxQueueDepth = 32768;

enum class WqeOpcode : uint32_t { kWrite = 3 };  // the one these kernels post

enum class WqeWord : uint32_t {
    kControl = 0,
    kOpcode = 1,
    kTransport = 2,
    kSegment = 3,
    kRemoteEid = 4,  // four words
    kRemoteToken = 8,
    kUdf = 9,
    kRemoteLow = 10,
    kRemoteHigh = 11,
    kLength = 12,
    kLocalToken = 13,
    kLocalLow = 14,
    kLocalHigh = 15
};

constexpr uint32_t kWqePlaceOrderShift = 16;  // 0 none, 1 relaxed, 2 strong
constexpr uint32_t kWqeFenceBit = 19;         // starts when the earlier WQEs of its queue are done
constexpr uint32_t kWqeCompletionBit = 21;
constexpr uint32_t kWqeTokenEnableBit = 28;
constexpr uint32_t kWqeJettyTypeShift = 29;
constexpr uint32_t kWqeOwnerBit = 31;

// The owner bit inverts on every pass of the ring: 1 on the first. `depth` is a power of two.
constexpr uint32_t wqe_owner(uint32_t producer, uint32_t depth) {
    return (producer & depth) == 0 ? 1U : 0U;
}

// Unordered, completion requested.
constexpr uint32_t wqe_control_word(uint32_t owner, uint32_t jetty_type, uint32_t token_enable) {
    return (1U << kWqeCompletionBit) | (token_enable << kWqeTokenEnableBit) | (jetty_type << kWqeJettyTypeShift) |
           (owner << kWqeOwnerBit);
}
constexpr uint32_t wqe_opcode_word(WqeOpcode opcode, uint32_t target_hint) {
    return (target_hint & 0xFFU) | (static_cast<uint32_t>(opcode) << 8);
}
constexpr uint32_t wqe_transport_word(uint32_t tpn) {
    return (tpn & 0xFFFFFFU) | (1U << 24);
}
constexpr uint32_t wqe_segment_word(uint32_t segment) {
    return segment & 0xFFFFFU;
}

static_assert(wqe_control_word(1, 1, 1) == 0xB0200000U && wqe_control_word(0, 1, 1) == 0x30200000U, "published words");
static_assert(wqe_opcode_word(WqeOpcode::kWrite, 0) == 0x00000300U, "published word");

// A decoded WQE.
struct WqeFields {
    uint32_t owner, place_order, fence, completion, token_enable, jetty_type;
    uint32_t opcode, target_hint, tpn, num_sge, segment;
    uint32_t remote_eid[4];
    uint32_t remote_token;
    uint64_t remote_address;
    uint32_t length;
    uint32_t local_token;
    uint64_t local_address;
};

constexpr WqeFields decode_wqe(const uint32_t* word) {
    WqeFields f{};
    f.owner = word[0] >> kWqeOwnerBit;
    f.place_order = (word[0] >> kWqePlaceOrderShift) & 3U;
    f.fence = (word[0] >> kWqeFenceBit) & 1U;
    f.completion = (word[0] >> kWqeCompletionBit) & 1U;
    f.token_enable = (word[0] >> kWqeTokenEnableBit) & 1U;
    f.jetty_type = (word[0] >> kWqeJettyTypeShift) & 3U;
    f.target_hint = word[1] & 0xFFU;
    f.opcode = (word[1] >> 8) & 0xFFU;
    f.tpn = word[2] & 0xFFFFFFU;
    f.num_sge = word[2] >> 24;
    f.segment = word[3] & 0xFFFFFU;
    for (int i = 0; i < 4; ++i)
        f.remote_eid[i] = word[4 + i];
    f.remote_token = word[8];
    f.remote_address = word[10] | (uint64_t(word[11]) << 32);
    f.length = word[12];
    f.local_token = word[13];
    f.local_address = word[14] | (uint64_t(word[15]) << 32);
    return f;
}

}  // namespace ascend_deepep

#endif  // ASCEND_DEEPEP_CONTRACT_ARCH35_WQE_H
