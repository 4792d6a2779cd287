// SPDX-License-Identifier: Apache-2.0
//
// Bytes and layout hash of a communicator, from the contract's region tables. Layer: op_host.
#include "op_host/sizes.h"

#include <initializer_list>

#include "contract/queue_context.h"
#include "contract/tiling_data.h"

namespace ascend_deepep::op_host {
namespace {

class Fnv {
  public:
    void add(uint64_t word) {
        for (int byte = 0; byte < 8; ++byte) {
            hash_ = (hash_ ^ ((word >> (8 * byte)) & 0xFFU)) * kPrime;
        }
    }
    uint64_t value() const { return hash_; }

  private:
    static constexpr uint64_t kOffsetBasis = 0xCBF29CE484222325ULL;
    static constexpr uint64_t kPrime = 0x100000001B3ULL;
    uint64_t hash_ = kOffsetBasis;
};

}  // namespace

uint64_t required_window_bytes(const CommunicatorLimits& limits) {
    return window_layout(limits).total_bytes;
}

uint64_t workspace_bytes(const CommunicatorLimits& limits) {
    return workspace_layout(limits).total_bytes;
}

uint64_t layout_hash(const CommunicatorLimits& limits) {
    Fnv hash;
    hash.add(kLayoutAbi);
    for (const uint32_t limit :
         {limits.num_ranks, limits.max_tokens, limits.hidden, limits.num_topk, limits.num_experts,
          limits.shared_expert_num, limits.per_expert_copies, limits.combine_reduce}) {
        hash.add(limit);
    }
    const WindowLayout window = window_layout(limits);
    for (const Region& region : window.regions) {
        hash.add(region.offset);
        hash.add(region.bytes);
    }
    for (const uint64_t word : {window.total_bytes, uint64_t{window.control_blocks}, uint64_t{window.token_slot_bytes},
                                uint64_t{window.row_slot_bytes}}) {
        hash.add(word);
    }
    for (const uint64_t size :
         {uint64_t{kBlockBytes}, uint64_t{kBlockDataBytes}, uint64_t{kControlSlots}, sizeof(ControlPage),
          sizeof(ControlHeader), sizeof(CallSignature), sizeof(Refusal), sizeof(ErrorRecord), sizeof(TokenHeader),
          sizeof(TokenEntry), sizeof(AssistTrailer), sizeof(QueueContext)}) {
        hash.add(size);
    }
    return hash.value();
}

}  // namespace ascend_deepep::op_host
