// SPDX-License-Identifier: Apache-2.0
//
// The structures of the contract, field by field, for docs/layout.md. Layer: tools.
// Offsets and sizes come from the compiler; a field that is missing here leaves a gap, which the generator refuses.
#ifndef ASCEND_DEEPEP_TOOLS_GEN_LAYOUT_DOC_FIELDS_H
#define ASCEND_DEEPEP_TOOLS_GEN_LAYOUT_DOC_FIELDS_H

#include <cstddef>
#include <string>
#include <vector>

#include "contract/tiling_data.h"

namespace ascend_deepep::layout_doc {

struct Field {
    const char* name;
    size_t offset;
    size_t bytes;
    const char* meaning;
};

struct Structure {
    const char* name;
    size_t bytes;
    const char* meaning;
    std::vector<Field> fields;
};

#define ASCEND_DEEPEP_FIELD(type, member, meaning) {#member, offsetof(type, member), sizeof(type::member), meaning}

inline Structure token_header() {
    using T = TokenHeader;
    return {"TokenHeader",
            sizeof(T),
            "At `header_offset` of a token copy, the same in every copy of the token but for `column`; `num_entries` "
            "entries "
            "follow, then a float32 weight per top-k column if the call has expert_scales.",
            {ASCEND_DEEPEP_FIELD(T, source_rank, "rank the token lives on"),
             ASCEND_DEEPEP_FIELD(T, num_entries, "top-k columns, then shared experts"),
             ASCEND_DEEPEP_FIELD(T, token, "index of the token on its rank"),
             ASCEND_DEEPEP_FIELD(T, column, "the entry this copy is for; 0xFFFF: all")}};
}

inline Structure token_entry() {
    using T = TokenEntry;
    return {"TokenEntry",
            sizeof(T),
            "One choice of the token; its column is its place in the header.",
            {ASCEND_DEEPEP_FIELD(T, expert, "shared ones behind the routed; 0xFFFF: none"),
             ASCEND_DEEPEP_FIELD(T, ordinal, "earlier (token, column) pairs of the rank with the same expert")}};
}

inline Structure call_signature() {
    using T = CallSignature;
    return {"CallSignature",
            sizeof(T),
            "What all ranks must agree on in one operation.",
            {ASCEND_DEEPEP_FIELD(T, kind, "1 dispatch, 2 combine"), ASCEND_DEEPEP_FIELD(T, hidden, ""),
             ASCEND_DEEPEP_FIELD(T, num_topk, ""), ASCEND_DEEPEP_FIELD(T, num_experts, ""),
             ASCEND_DEEPEP_FIELD(T, shared_expert_num, ""), ASCEND_DEEPEP_FIELD(T, quant_mode, ""),
             ASCEND_DEEPEP_FIELD(T, x_dtype, "Dtype"), ASCEND_DEEPEP_FIELD(T, out_dtype, "Dtype"),
             ASCEND_DEEPEP_FIELD(T, max_tokens, "M: largest batch of the call"), ASCEND_DEEPEP_FIELD(T, layout_abi, ""),
             ASCEND_DEEPEP_FIELD(T, dispatch_low, "combine: number of its dispatch"),
             ASCEND_DEEPEP_FIELD(T, dispatch_high, ""), ASCEND_DEEPEP_FIELD(T, shared_expert_rank_num, ""),
             ASCEND_DEEPEP_FIELD(T, copy_mode, "dispatch: CopyMode"),
             ASCEND_DEEPEP_FIELD(T, scales, "dispatch: kind, dtype << 4, columns << 12 of its scales"),
             ASCEND_DEEPEP_FIELD(T, has_expert_scales, "dispatch: weights travel; combine by rank: weighted")}};
}

inline Structure refusal() {
    using T = Refusal;
    return {"Refusal",
            sizeof(T),
            "Why a rank refused a call.",
            {ASCEND_DEEPEP_FIELD(T, code, "Code"), ASCEND_DEEPEP_FIELD(T, field, "Field: the argument"),
             ASCEND_DEEPEP_FIELD(T, token, "row of expert_ids or of the triples"),
             ASCEND_DEEPEP_FIELD(T, column, "column of it, or axis of a tensor"),
             ASCEND_DEEPEP_FIELD(T, got, "the value; with `limit` 16 characters of comm_alg"),
             ASCEND_DEEPEP_FIELD(T, limit, "the limit"), ASCEND_DEEPEP_FIELD(T, rank, "who refused, or differs"),
             ASCEND_DEEPEP_FIELD(T, echo, "0, or the refusal this one passes on")}};
}

inline Structure control_header() {
    using T = ControlHeader;
    return {"ControlHeader",
            sizeof(T),
            "Starts a control message; one u32 of rows per local expert of the receiver follows.",
            {ASCEND_DEEPEP_FIELD(T, tag, "of the operation"), ASCEND_DEEPEP_FIELD(T, num_tokens, "of the sender"),
             ASCEND_DEEPEP_FIELD(T, num_copies, "token copies to the receiver"),
             ASCEND_DEEPEP_FIELD(T, signature, "CallSignature"),
             ASCEND_DEEPEP_FIELD(T, consumed, "by kind: uses of its halves the sender has read"),
             ASCEND_DEEPEP_FIELD(T, refusal, "Refusal; code 0: none"), ASCEND_DEEPEP_FIELD(T, reserved, "")}};
}

inline Structure error_record() {
    using T = ErrorRecord;
    return {"ErrorRecord",
            sizeof(T),
            "The first failure of an operation; also the abort message to all peers.",
            {ASCEND_DEEPEP_FIELD(T, code, "Code"), ASCEND_DEEPEP_FIELD(T, stage, "Stage"),
             ASCEND_DEEPEP_FIELD(T, rank, "who wrote it"), ASCEND_DEEPEP_FIELD(T, root, "who is to blame"),
             ASCEND_DEEPEP_FIELD(T, sequence, "number of the operation"),
             ASCEND_DEEPEP_FIELD(T, expected, "tag, flag or count waited for"), ASCEND_DEEPEP_FIELD(T, seen, ""),
             ASCEND_DEEPEP_FIELD(T, elapsed_cycles, ""), ASCEND_DEEPEP_FIELD(T, core, ""),
             ASCEND_DEEPEP_FIELD(T, kind, "1 dispatch, 2 combine"),
             ASCEND_DEEPEP_FIELD(T, peer, "peer, queue or block waited for"),
             ASCEND_DEEPEP_FIELD(T, num_missing, "peers whose control message was not seen"),
             ASCEND_DEEPEP_FIELD(T, missing, "bit per rank"), ASCEND_DEEPEP_FIELD(T, got, ""),
             ASCEND_DEEPEP_FIELD(T, limit, ""), ASCEND_DEEPEP_FIELD(T, reserved, "")}};
}

inline Structure operation_state() {
    using T = OperationState;
    return {
        "OperationState",
        sizeof(T),
        "Read by every core at entry, written by the last core to leave.",
        {ASCEND_DEEPEP_FIELD(T, sequence, "number of the next operation"),
         ASCEND_DEEPEP_FIELD(T, tag_base, "drawn at rendezvous"),
         ASCEND_DEEPEP_FIELD(T, uses, "by kind: completed uses of the halves"),
         ASCEND_DEEPEP_FIELD(T, min_consumed, "by kind: smallest `consumed` of any peer"),
         ASCEND_DEEPEP_FIELD(T, is_broken, "a failure ended the communicator"), ASCEND_DEEPEP_FIELD(T, reserved, "")}};
}

inline Structure operation_outcome() {
    using T = OperationOutcome;
    return {"OperationOutcome",
            sizeof(T),
            "What the host reads after a launch.",
            {ASCEND_DEEPEP_FIELD(T, sequence, "number of the operation"), ASCEND_DEEPEP_FIELD(T, code, "Code"),
             ASCEND_DEEPEP_FIELD(T, num_rows, "dispatch: rows received"), ASCEND_DEEPEP_FIELD(T, refusal, "Refusal"),
             ASCEND_DEEPEP_FIELD(T, reserved, "")}};
}

inline Structure core_cell() {
    using T = CoreCell;
    return {"CoreCell",
            sizeof(T),
            "Local flags of one core, written by it alone.",
            {ASCEND_DEEPEP_FIELD(T, staged, "flag: tokens staged"),
             ASCEND_DEEPEP_FIELD(T, seen, "flag: all its sources' messages seen"),
             ASCEND_DEEPEP_FIELD(T, partial, "flag: rows in its range of local experts"),
             ASCEND_DEEPEP_FIELD(T, placed, "flag: block bases written"),
             ASCEND_DEEPEP_FIELD(T, progress, "{low tag word, Stage}"),
             ASCEND_DEEPEP_FIELD(T, min_consumed, "by kind: smallest of its sources"),
             ASCEND_DEEPEP_FIELD(T, reserved, "")}};
}

inline Structure control_page() {
    using T = ControlPage;
    return {"ControlPage",
            sizeof(T),
            "The first region of a window. Zeroed once; words of different cores share no 64 B line.",
            {ASCEND_DEEPEP_FIELD(T, state, "OperationState"),
             ASCEND_DEEPEP_FIELD(T, abort_word, "0, or Code << 32 | root + 1"),
             ASCEND_DEEPEP_FIELD(T, arrivals, "cores that have left"),
             ASCEND_DEEPEP_FIELD(T, next_work, "collect: next work item"),
             ASCEND_DEEPEP_FIELD(T, record_claim, "0, or 1 + core that writes the record"),
             ASCEND_DEEPEP_FIELD(T, route, "flag: routing table ready"),
             ASCEND_DEEPEP_FIELD(T, validated, "flag: combine inputs validated"),
             ASCEND_DEEPEP_FIELD(T, outcome, "OperationOutcome"), ASCEND_DEEPEP_FIELD(T, record, "ErrorRecord"),
             ASCEND_DEEPEP_FIELD(T, padding, ""), ASCEND_DEEPEP_FIELD(T, cores, "CoreCell per core"),
             ASCEND_DEEPEP_FIELD(T, times, "per core: cycles in each Stage"),
             ASCEND_DEEPEP_FIELD(T, built, "flag per queue: WQEs in the ring"),
             ASCEND_DEEPEP_FIELD(T, completed, "flag per queue: WQEs completed")}};
}

inline Structure queue_context() {
    using T = QueueContext;
    return {"QueueContext",
            sizeof(T),
            "One per peer, 128 B apart.",
            {ASCEND_DEEPEP_FIELD(T, sq_base, "ring of 64 B WQEs"), ASCEND_DEEPEP_FIELD(T, sq_doorbell, "register"),
             ASCEND_DEEPEP_FIELD(T, cq_base, "ring of 64 B CQEs"), ASCEND_DEEPEP_FIELD(T, cq_doorbell, "register"),
             ASCEND_DEEPEP_FIELD(T, remote_base, "the peer's window"), ASCEND_DEEPEP_FIELD(T, remote_bytes, ""),
             ASCEND_DEEPEP_FIELD(T, sq_depth, "power of two"), ASCEND_DEEPEP_FIELD(T, cq_depth, ">= sq_depth"),
             ASCEND_DEEPEP_FIELD(T, tpn, ""), ASCEND_DEEPEP_FIELD(T, remote_segment, ""),
             ASCEND_DEEPEP_FIELD(T, remote_token, ""), ASCEND_DEEPEP_FIELD(T, token_enable, ""),
             ASCEND_DEEPEP_FIELD(T, jetty_type, ""), ASCEND_DEEPEP_FIELD(T, target_hint, ""),
             ASCEND_DEEPEP_FIELD(T, local_token, ""), ASCEND_DEEPEP_FIELD(T, remote_eid, ""),
             ASCEND_DEEPEP_FIELD(T, posted, "free-running producer index of the SQ"),
             ASCEND_DEEPEP_FIELD(T, consumed, "free-running consumer index of the CQ"),
             ASCEND_DEEPEP_FIELD(T, reserved, "")}};
}

inline Structure row_chain() {
    using T = RowChain;
    return {"RowChain",
            sizeof(T),
            "One a row, behind the trailer, of a communicator that sums by rank: the rows of a token copy.",
            {ASCEND_DEEPEP_FIELD(T, next, "1 + the row of its next column, 0: none"),
             ASCEND_DEEPEP_FIELD(T, previous, "1 + the row of the one before, 0: the chain begins")}};
}

inline Structure assist_trailer() {
    using T = AssistTrailer;
    return {"AssistTrailer",
            sizeof(T),
            "Behind the triples of assist_info_for_combine: which dispatch they belong to.",
            {ASCEND_DEEPEP_FIELD(T, magic, ""), ASCEND_DEEPEP_FIELD(T, num_rows, ""),
             ASCEND_DEEPEP_FIELD(T, tag_low, "tag of the dispatch"), ASCEND_DEEPEP_FIELD(T, tag_high, ""),
             ASCEND_DEEPEP_FIELD(T, sequence_low, "number of the dispatch"), ASCEND_DEEPEP_FIELD(T, sequence_high, ""),
             ASCEND_DEEPEP_FIELD(T, triple_digest, "of all triples and chains"),
             ASCEND_DEEPEP_FIELD(T, id_digest, "of the ids that this rank dispatched")}};
}

#undef ASCEND_DEEPEP_FIELD

}  // namespace ascend_deepep::layout_doc

#endif  // ASCEND_DEEPEP_TOOLS_GEN_LAYOUT_DOC_FIELDS_H
