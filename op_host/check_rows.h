// SPDX-License-Identifier: Apache-2.0
//
// Checks as rows of tables: an argument, what is wrong with it, and the test that finds it. Layer: op_host.
// A table is run from the top and stops at the first bad row, so a row may rely on those above it.
#ifndef ASCEND_DEEPEP_OP_HOST_CHECK_ROWS_H
#define ASCEND_DEEPEP_OP_HOST_CHECK_ROWS_H

#include "contract/window_layout.h"
#include "op_host/calls.h"
#include "op_host/geometry.h"
#include "op_host/status.h"

namespace ascend_deepep::op_host {

// What the tests of both operators look at.
struct CheckContext {
    const CommunicatorLimits& limits;
    uint32_t rank;
    const CommonAttributes& attributes;
    Geometry geometry;
};

struct DispatchContext : CheckContext {
    const DispatchCall& call;
};

struct CombineContext : CheckContext {
    const CombineCall& call;
};

struct Finding {
    bool is_bad;
    int64_t got;
    int64_t limit;
};

template <typename Context>
struct CheckRow {
    Field field;
    Code code;
    Finding (*find)(const Context&);
    uint32_t axis = 0;  // of a tensor, where the row is about its shape
};

template <typename Call>
struct TensorRow {
    Field field;
    TensorInfo Call::* tensor;
    bool is_required;
};

inline Refusal make_refusal(Field field, Code code, int64_t got, int64_t limit, uint32_t axis = 0) {
    Refusal refusal{};
    refusal.field = field;
    refusal.code = code;
    refusal.got = got;
    refusal.limit = limit;
    refusal.column = axis;
    return refusal;
}

template <typename Context, typename Rows>
Refusal run_rows(const Rows& rows, const Context& context) {
    for (const auto& row : rows) {
        const Finding finding = row.find(context);
        if (finding.is_bad) return make_refusal(row.field, row.code, finding.got, finding.limit, row.axis);
    }
    return Refusal{};
}

// Dtype, dimensions, device, requires_grad of one tensor. An absent optional tensor is fine.
Refusal check_tensor(Field field, const TensorInfo& tensor, TensorDevice device, bool is_required);

template <typename Call, typename Rows>
Refusal run_tensors(const Rows& rows, const Call& call) {
    for (const auto& row : rows) {
        const Refusal refusal = check_tensor(row.field, call.*row.tensor, call.device, row.is_required);
        if (refusal.code != Code::kOk) return refusal;
    }
    return Refusal{};
}

// The communicator sums a token's rows of one rank before they return.
inline bool sums_by_rank(const CommunicatorLimits& limits) {
    return limits.combine_reduce == static_cast<uint32_t>(CombineReduce::kRank);
}

// Given and not empty: callers pass a tensor without dimensions or elements for "none".
bool is_given(const TensorInfo& tensor);

// Size of one axis against its only legal value; fine where the tensor is absent.
Finding compare_extent(const TensorInfo& tensor, size_t axis, int64_t expected);

// The same for a table that counts as given without elements too: its absence is a word to the other ranks.
Finding compare_table_extent(const TensorInfo& tensor, size_t axis, int64_t expected);

// A mask says which tokens of equal batches are padding; unequal batches say it by their sizes.
Finding mask_of_unequal_batches(const CheckContext& context, const TensorInfo& mask);

// Attributes, batch and row sizes of both operators, all but features that come later.
Refusal check_common(const CheckContext& context);

// Element types and scales of dispatch, and room for the copies they make.
Refusal check_quant(const DispatchContext& context);

// Values that are legal and need a feature this release lacks.
Refusal check_common_features(const CheckContext& context);

// The refusal with its rank and text; ok stays ok.
Status make_status(Refusal refusal, OperationKind kind, uint32_t rank);

}  // namespace ascend_deepep::op_host

#endif  // ASCEND_DEEPEP_OP_HOST_CHECK_ROWS_H
