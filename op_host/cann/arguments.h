// SPDX-License-Identifier: Apache-2.0
//
// Inputs, outputs and attributes of the two operators as the operator package registers them: one table each, in the
// order of the torch schemas (framework/ops/schema.h). Layer: op_host/cann. The definition of an operator, its shape
// inference and its tiling all walk these tables, so an index means the same in each.
#ifndef ASCEND_DEEPEP_OP_HOST_CANN_ARGUMENTS_H
#define ASCEND_DEEPEP_OP_HOST_CANN_ARGUMENTS_H

#include <cstddef>
#include <cstdint>
#include <string>

#include "graph/types.h"
#include "op_host/calls.h"

namespace ascend_deepep::cann {

// y_dtype and its like: CANN has no "none" for an attribute.
constexpr int64_t kNoDtype = ge::DT_UNDEFINED;

struct DispatchArguments {
    op_host::DispatchCall call;
    std::string group_ep;
    int64_t y_dtype = kNoDtype, x_dtype = kNoDtype, scales_dtype = kNoDtype;
};

struct CombineArguments {
    op_host::CombineCall call;
    std::string group_ep;
};

// CANN compiles a kernel per column of the dtypes: bf16 and fp16 tokens.
constexpr size_t kNumColumns = 2;
using Dtypes = ge::DataType[kNumColumns];

template <typename Arguments>
struct InputRow {
    const char* name;
    bool is_required;
    Dtypes dtypes;
    op_host::TensorInfo* (*tensor)(Arguments&);
};

struct OutputRow {
    const char* name;
    Dtypes dtypes;
};

// Exactly one of `number` and `text` is there. The default is what a fresh Arguments holds.
template <typename Arguments>
struct AttributeRow {
    const char* name;
    bool is_required;
    int64_t* (*number)(Arguments&);
    std::string* (*text)(Arguments&);
};

template <typename Row>
struct Table {
    const Row* rows;
    size_t size;

    const Row* begin() const { return rows; }
    const Row* end() const { return rows + size; }
};

enum DispatchOutput : size_t {
    kExpandX,
    kDynamicScales,
    kAssistInfo,
    kExpertTokenNums,
    kEpRecvCounts,
    kTpRecvCounts,
    kExpandScales,
};

template <typename Arguments>
Table<InputRow<Arguments>> inputs();
template <typename Arguments>
Table<OutputRow> outputs();
template <typename Arguments>
Table<AttributeRow<Arguments>> attributes();

template <>
Table<InputRow<DispatchArguments>> inputs();
template <>
Table<OutputRow> outputs<DispatchArguments>();
template <>
Table<AttributeRow<DispatchArguments>> attributes();
template <>
Table<InputRow<CombineArguments>> inputs();
template <>
Table<OutputRow> outputs<CombineArguments>();
template <>
Table<AttributeRow<CombineArguments>> attributes();

}  // namespace ascend_deepep::cann

#endif  // ASCEND_DEEPEP_OP_HOST_CANN_ARGUMENTS_H
