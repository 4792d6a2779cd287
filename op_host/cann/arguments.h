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

// y_dtype and its like are CANN's numbers of dtypes, and this one is for none.
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

// The dtypes that differ between calls. CANN compiles a kernel for each legal set of them, which it calls a column.
struct Column {
    ge::DataType tokens;
    ge::DataType scales = ge::DT_FLOAT;
    ge::DataType rows = tokens;              // that dispatch gives
    ge::DataType row_scales = ge::DT_FLOAT;  // that dispatch gives with them

    bool operator==(const Column& other) const {
        return tokens == other.tokens && scales == other.scales && rows == other.rows && row_scales == other.row_scales;
    }
};

// Of a tensor: the same in all columns, or what the column says.
class ColumnDtype {
  public:
    constexpr ColumnDtype(ge::DataType same) : same_(same) {}
    constexpr ColumnDtype(ge::DataType Column::* member) : member_(member) {}
    constexpr ge::DataType in(const Column& column) const { return member_ == nullptr ? same_ : column.*member_; }

  private:
    ge::DataType same_ = ge::DT_UNDEFINED;
    ge::DataType Column::* member_ = nullptr;
};

template <typename Arguments>
struct InputRow {
    const char* name;
    bool is_required;
    ColumnDtype dtype;
    op_host::TensorInfo* (*tensor)(Arguments&);
};

struct OutputRow {
    const char* name;
    ColumnDtype dtype;
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
Table<Column> columns();
template <typename Arguments>
Table<InputRow<Arguments>> inputs();
template <typename Arguments>
Table<OutputRow> outputs();
template <typename Arguments>
Table<AttributeRow<Arguments>> attributes();

template <>
Table<Column> columns<DispatchArguments>();
template <>
Table<InputRow<DispatchArguments>> inputs();
template <>
Table<OutputRow> outputs<DispatchArguments>();
template <>
Table<AttributeRow<DispatchArguments>> attributes();
template <>
Table<Column> columns<CombineArguments>();
template <>
Table<InputRow<CombineArguments>> inputs();
template <>
Table<OutputRow> outputs<CombineArguments>();
template <>
Table<AttributeRow<CombineArguments>> attributes();

}  // namespace ascend_deepep::cann

#endif  // ASCEND_DEEPEP_OP_HOST_CANN_ARGUMENTS_H
