// SPDX-License-Identifier: Apache-2.0
//
// From the tables of arguments to the definition of an operator. Layer: op_host/cann.
#ifndef ASCEND_DEEPEP_OP_HOST_CANN_DEFINITION_H
#define ASCEND_DEEPEP_OP_HOST_CANN_DEFINITION_H

#include <vector>

#include "op_host/cann/arguments.h"
#include "op_host/cann/functions.h"
#include "register/op_def_registry.h"

namespace ascend_deepep::cann {

constexpr const char* kComputeUnit = "ascend950";

template <typename Arguments>
void describe(::ops::OpParamDef& parameter, ::ops::Option option, const ColumnDtype& dtype) {
    std::vector<ge::DataType> dtypes;
    for (const Column& column : columns<Arguments>())
        dtypes.push_back(dtype.in(column));
    const std::vector<ge::Format> formats(dtypes.size(), ge::FORMAT_ND);
    parameter.ParamType(option).DataType(dtypes).Format(formats);
}

// Every tensor is packed for the kernel: it knows no strides.
template <typename Arguments>
void add_arguments(::ops::OpDef& definition) {
    for (const auto& row : inputs<Arguments>()) {
        ::ops::OpParamDef& input = definition.Input(row.name);
        describe<Arguments>(input, row.is_required ? ::ops::REQUIRED : ::ops::OPTIONAL, row.dtype);
        input.AutoContiguous();
    }
    for (const auto& row : outputs<Arguments>())
        describe<Arguments>(definition.Output(row.name), ::ops::REQUIRED, row.dtype);
    Arguments defaults;
    for (const auto& row : attributes<Arguments>()) {
        ::ops::OpAttrDef& attribute =
            definition.Attr(row.name).AttrType(row.is_required ? ::ops::REQUIRED : ::ops::OPTIONAL);
        if (row.is_required) {
            row.number != nullptr ? attribute.Int() : attribute.String();
        } else if (row.number != nullptr) {
            attribute.Int(*row.number(defaults));
        } else {
            attribute.String(row.text(defaults)->c_str());
        }
    }
}

// One binary for all shapes. Launched even when no output has elements: the other ranks wait for this one's message.
inline void add_core(::ops::OpDef& definition, gert::OpImplRegisterV2::TilingKernelFunc tile) {
    ::ops::OpAICoreConfig config;
    config.DynamicCompileStaticFlag(true)
        .DynamicFormatFlag(true)
        .DynamicRankSupportFlag(true)
        .DynamicShapeSupportFlag(true)
        .NeedCheckSupportFlag(false)
        .PrecisionReduceFlag(true)
        .ExtendCfgInfo("aclnnSupport.value", "support_aclnn")
        .ExtendCfgInfo("jitCompile.flag", "static_false")
        .ExtendCfgInfo("multiKernelSupportDynamicGraph.value", "multi_kernel");
    definition.AICore().SetTiling(tile).LaunchWithZeroEleOutputTensors(true).AddConfig(kComputeUnit, config);
}

}  // namespace ascend_deepep::cann

#endif  // ASCEND_DEEPEP_OP_HOST_CANN_DEFINITION_H
