// SPDX-License-Identifier: Apache-2.0
// What the calls of a communicator have besides tokens and experts: masks, shared experts, quantised rows and the
// optional tensors. The same on all ranks of a call. Layer: simulator.
#pragma once

#include <cstdint>

#include "contract/tiling_data.h"

namespace ascend_deepep::simulator {

// What dispatch's `scales` are.
enum class ScalesKind : uint32_t {
    kNone,
    kScalar,      // one factor for everything
    kRow,         // a factor per element of a row
    kPerExpert,   // a row of factors per expert, shared ones first: copies to different experts differ
    kTravelFp32,  // of rows that are quantised already: they go where the row goes
    kTravelE8m0,
    kCount
};

struct Features {
    MaskKind mask = MaskKind::kNone;
    uint32_t shared_experts = 0;            // on `shared_ranks` ranks, the first ones
    uint32_t shared_ranks = 0;              // 0: no shared experts
    CopyMode copies = CopyMode::kPerRank;   // kPerExpert: asked for by comm_alg
    Quant quant = Quant::kNone;             // of dispatch
    Dtype dtype = Dtype::kBf16;             // of x
    ScalesKind scales = ScalesKind::kNone;  // of dispatch
    uint32_t scale_columns = 0;             // of scales that travel
    bool has_weights = false;               // dispatch has expert_scales
    bool has_sums = false;                  // expert_token_nums are running sums, not counts
    bool is_int8 = false;                   // combine's rows travel as int8
    bool sums_by_rank = false;              // the communicator has combine_reduce "rank"
    bool has_shared_x = false;              // combine has shared_expert_x
    bool has_performance = false;           // both have performance_info
};

inline bool is_one_byte(Dtype dtype) {
    return dtype == Dtype::kE4m3 || dtype == Dtype::kE5m2;
}

// Rows of expand_x have elements of one byte.
inline bool has_byte_rows(const Features& f) {
    return f.quant != Quant::kNone || is_one_byte(f.dtype);
}

// Copies of a token to different experts differ, or are to be made as if they did.
inline bool has_copies_per_expert(const Features& f) {
    return f.copies == CopyMode::kPerExpert || f.scales == ScalesKind::kPerExpert;
}

// Of combine's rows: experts give back what came in, or bfloat16 for what has no arithmetic of its own.
inline Dtype combine_dtype(const Features& f) {
    return f.dtype == Dtype::kFp16 ? Dtype::kFp16 : Dtype::kBf16;
}

// Experts cannot compute with these rows, so what they give back is made up from who sent the row.
inline bool has_made_outputs(const Features& f) {
    return has_byte_rows(f) || f.is_int8;
}

}  // namespace ascend_deepep::simulator
