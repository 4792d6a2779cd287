// SPDX-License-Identifier: Apache-2.0
//
// What the host tells a kernel: one structure in GM, filled by op_host, read once at entry. Layer: contract.
// Addresses are 64-bit numbers; offsets are bytes from a region table.
#ifndef ASCEND_DEEPEP_CONTRACT_TILING_DATA_H
#define ASCEND_DEEPEP_CONTRACT_TILING_DATA_H

#include "contract/queue_context.h"
#include "contract/window_layout.h"

namespace ascend_deepep {

struct CoreRange {
    uint32_t first;
    uint32_t count;
};

// What x_active_mask says.
enum class MaskKind : uint32_t {
    kNone = 0,
    kTokens = 1,  // [num_tokens]: single tokens
    kPairs = 2    // [num_tokens, num_topk]: single (token, column) pairs; a token is active if one is
};

// How dispatch changes a row on its way: one for each family and element type.
enum class Quant : uint32_t {
    kNone = 0,    // as it is; scales, where there are any, travel with it
    kStaticInt8,  // by given factors
    kTokenInt8,   // a float32 scale a row
    kTokenE4m3,
    kTokenE5m2,
    kGroupE4m3,  // a float32 scale per 128 elements
    kGroupE5m2,
    kMxE4m3,  // an e8m0 scale per 32 elements
    kMxE5m2,
    kCount
};

// Common to both operators.
struct CommonTiling {
    uint64_t window_table;  // u64[num_ranks]: every rank's window as this rank addresses it
    uint64_t queue_table;   // QueueContext[num_ranks][queues_per_peer], stride kQueueContextStride
    uint64_t workspace;
    uint64_t timeout_cycles;  // from entry
    uint32_t rank;
    uint32_t num_ranks;
    uint32_t num_cores;
    uint32_t local_experts;     // on this rank
    uint32_t experts_per_rank;  // on a rank of routed experts
    uint32_t first_expert;      // of this rank, as header entries number them
    uint32_t num_tokens;
    uint32_t hidden;
    uint32_t num_topk;
    uint32_t num_columns;  // num_topk + shared_expert_num
    uint32_t num_experts;  // routed
    uint32_t shared_expert_num;
    uint32_t shared_expert_rank_num;  // ranks before those of the routed experts
    uint32_t shared_replicas;         // ranks of one shared expert
    uint32_t mask;                    // MaskKind
    uint32_t is_refused;              // post `refusal`, move nothing
    uint32_t simt_width;              // threads of data-parallel SIMT functions
    uint32_t queues_per_peer;         // of this rank alone: ranks may differ
    uint32_t combine_reduce;          // CombineReduce of the communicator
    uint64_t x_active_mask;           // u8 [num_tokens] or [num_tokens, num_topk], or 0
    uint64_t performance_info;        // i64 [num_ranks]: longest wait for a source in us, or 0
    uint64_t cycles_per_us;
    CallSignature signature;
    Refusal refusal;
    WindowLayout window;
    WorkspaceLayout workspace_layout;
};

struct DispatchTiling {
    CommonTiling common;
    uint64_t x;                      // [num_tokens, hidden]
    uint64_t expert_ids;             // i32 [num_tokens, num_topk]
    uint64_t scales;                 // by `quant` and `scale_rows`, or 0
    uint64_t expert_scales;          // f32 [num_tokens, num_topk], or 0: no weights travel
    uint64_t expand_x;               // [capacity_rows, hidden]
    uint64_t dynamic_scales;         // [capacity_rows, scale_bytes]
    uint64_t expand_scales;          // f32 [capacity_rows]
    uint64_t assist_info;            // i32, three a row; then the trailer; combine by rank: then the chains
    uint64_t ep_recv_counts;         // i32 [local_experts * num_ranks], inclusive prefix
    uint64_t expert_token_nums;      // i64 [local_experts]
    uint64_t assist_trailer_offset;  // i32 elements; 0 means no room (capacity 0)
    uint32_t capacity_rows;
    uint32_t expert_token_nums_type;  // 0 inclusive prefix, 1 count
    CoreRange stage;
    CoreRange wqe_builder;
    CoreRange doorbell;
    CoreRange cumsum;
    uint32_t route_width;    // threads of the route role; each walks one segment of tokens in order
    uint32_t collect_batch;  // token copies a collect work item holds
    uint32_t quant;          // Quant
    uint32_t copy_mode;      // CopyMode
    uint32_t x_row_bytes;    // of a row of x
    uint32_t scale_rows;     // rows of smoothing or static scales: 1 for all copies, or one per expert, shared first
    uint32_t scale_columns;  // static: 1 for a scalar; else hidden
    uint32_t reserved;
    TokenLayout token;  // of this call
};

enum class CombineEngine : uint32_t { kMte = 0, kUrma = 1 };

struct CombineTiling {
    CommonTiling common;
    uint64_t expand_x;    // [capacity_rows, hidden]
    uint64_t expert_ids;  // i32 [num_tokens, num_topk]
    uint64_t assist_info;
    uint64_t ep_send_counts;   // i32 [local_experts * num_ranks]
    uint64_t expert_scales;    // f32 [num_tokens, num_topk], or 0: plain sum
    uint64_t expand_scales;    // f32 [capacity_rows]: weights of rows, where they are summed by rank; or 0
    uint64_t shared_expert_x;  // [num_tokens, hidden], or 0
    uint64_t x_out;            // [num_tokens, hidden]
    uint64_t assist_trailer_offset;
    uint32_t capacity_rows;
    uint32_t engine;         // CombineEngine
    uint32_t dtype;          // Dtype of expand_x and x_out
    uint32_t reduce_blocks;  // blocks of a row that the reduce role sums at a time (UB)
    CoreRange control;       // one core: validates, exchanges control messages
    CoreRange send;          // MTE: rows dealt round robin; URMA: queues dealt round robin
    CoreRange doorbell;      // URMA only; empty for MTE
    uint32_t is_int8;        // rows travel as int8
    uint32_t reserved;
    RowLayout row;  // of this call
};

// Written by dispatch behind the triples, checked by combine: which dispatch the tensor belongs to.
struct AssistTrailer {
    uint32_t magic;  // kAssistMagic, or of a communicator that sums by rank one of the other two
    uint32_t num_rows;
    uint32_t tag_low;  // tag of the dispatch
    uint32_t tag_high;
    uint32_t sequence_low;
    uint32_t sequence_high;
    uint32_t triple_digest;  // of all triples, by row, and of the chains
    uint32_t id_digest;      // of the ids that this rank dispatched, after the mask, and of the active tokens
};
static_assert(sizeof(AssistTrailer) == 32, "one unit");
constexpr uint32_t kAssistMagic = 0xA5CED001U;
constexpr uint32_t kAssistMagicChains = 0xA5CED002U;          // chains follow
constexpr uint32_t kAssistMagicWeightedChains = 0xA5CED003U;  // and expand_scales was written
constexpr uint32_t kTripleWords = 3;                          // source rank, token, column
constexpr uint32_t kAssistRowWords = 128;                     // i32 elements that the tensor reserves per row

// Rows of one token copy on the rank that computes them, column ascending, linked both ways. One a row, behind the
// trailer, written where the communicator sums by rank.
struct RowChain {
    uint32_t next;      // 1 + the row of the copy's next column here; 0: none
    uint32_t previous;  // 1 + the row of the one before; 0: none, the chain begins here
};
constexpr uint32_t kChainWords = sizeof(RowChain) / sizeof(uint32_t);
constexpr uint64_t chain_word(uint64_t trailer_word, uint64_t row) {
    return trailer_word + sizeof(AssistTrailer) / sizeof(uint32_t) + row * kChainWords;
}

}  // namespace ascend_deepep

#endif  // ASCEND_DEEPEP_CONTRACT_TILING_DATA_H
