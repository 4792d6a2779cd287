// SPDX-License-Identifier: Apache-2.0
//
// Tags of operations and the local flags that carry their low word. Layer: contract. docs/protocol.md, "Tags".
#ifndef ASCEND_DEEPEP_CONTRACT_TAG_H
#define ASCEND_DEEPEP_CONTRACT_TAG_H

#include <cstdint>

namespace ascend_deepep {

// tag = base + sequence number. The high word of the base is drawn at rendezvous, new for every communicator; the low
// word carries into it, so a tag is never used twice and never zero.
constexpr uint64_t make_tag(uint64_t base, uint64_t sequence) {
    return base + sequence;
}

// A local flag is one 64-bit word {low tag word, value + 1}: fresh for every operation without clearing. The value is
// kept off zero so that a word nobody has written yet is not a flag, not even of the operation whose low tag word is 0.
constexpr uint64_t pack_flag(uint64_t tag, uint32_t value) {
    return (tag << 32) | (uint64_t(value) + 1);
}
constexpr bool flag_is_current(uint64_t flag, uint64_t tag) {
    return (flag >> 32) == (tag & 0xFFFFFFFFULL) && static_cast<uint32_t>(flag) != 0;
}
constexpr uint32_t flag_value(uint64_t flag) {
    return static_cast<uint32_t>(flag) - 1;
}

}  // namespace ascend_deepep

#endif  // ASCEND_DEEPEP_CONTRACT_TAG_H
