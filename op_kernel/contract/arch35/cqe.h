// SPDX-License-Identifier: Apache-2.0
//
// The 64 B URMA completion queue element. Layer: contract.
#ifndef ASCEND_DEEPEP_CONTRACT_ARCH35_CQE_H
#define ASCEND_DEEPEP_CONTRACT_ARCH35_CQE_H

#include <cstdint>

namespace ascend_deepep {

constexpr uint32_t kCqeBytes = 64;
constexpr uint32_t kCqeWords = kCqeBytes / sizeof(uint32_t);
constexpr uint32_t kCqeOwnerBit = 2;
constexpr uint32_t kCqeOpcodeShift = 4;
constexpr uint32_t kCqeSubstatusShift = 16;
constexpr uint32_t kCqeStatusShift = 24;
constexpr uint32_t kCqDoorbellMask = 0xFFFFFFU;

// Status of a completion as the engine of the twin reports it.
enum class CqeStatus : uint32_t { kOk = 0, kLocalAccess = 2, kRemoteAccess = 3, kBadToken = 4, kBadWqe = 5, kLost = 6 };

// Valid when the owner bit differs from the parity of the consumer's pass.
constexpr bool cqe_is_valid(uint32_t word0, uint32_t consumer, uint32_t depth) {
    return ((word0 >> kCqeOwnerBit) & 1U) != ((consumer / depth) & 1U);
}
constexpr uint32_t cqe_owner(uint32_t producer, uint32_t depth) {
    return ((producer / depth) & 1U) ^ 1U;
}
constexpr uint32_t cqe_status(uint32_t word0) {
    return word0 >> kCqeStatusShift;
}
constexpr uint32_t cqe_substatus(uint32_t word0) {
    return (word0 >> kCqeSubstatusShift) & 0xFFU;
}
constexpr uint32_t cqe_word0(uint32_t owner, uint32_t opcode, uint32_t substatus, uint32_t status) {
    return (owner << kCqeOwnerBit) | ((opcode & 7U) << kCqeOpcodeShift) | (substatus << kCqeSubstatusShift) |
           (status << kCqeStatusShift);
}
constexpr uint32_t cqe_entry_index(uint32_t word1) {
    return word1 & 0xFFFFU;
}

}  // namespace ascend_deepep

#endif  // ASCEND_DEEPEP_CONTRACT_ARCH35_CQE_H
