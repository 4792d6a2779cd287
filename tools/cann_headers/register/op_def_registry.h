// SPDX-License-Identifier: Apache-2.0
//
// Stand-in (tools/cann_headers/README.md): definition of an operator. Getters and lists are ours, for tests.
#ifndef ASCEND_DEEPEP_CANN_HEADERS_OP_DEF_REGISTRY_H
#define ASCEND_DEEPEP_CANN_HEADERS_OP_DEF_REGISTRY_H

#include <deque>
#include <functional>
#include <utility>

#include "exe_graph/runtime/infer_datatype_context.h"
#include "exe_graph/runtime/infer_shape_context.h"
#include "exe_graph/runtime/tiling_context.h"
#include "stand_in/definitions.h"

namespace gert {

struct OpImplRegisterV2 {
    using TilingKernelFunc = ge::graphStatus (*)(TilingContext*);
    using InferShapeKernelFunc = ge::graphStatus (*)(InferShapeContext*);
    using InferDataTypeKernelFunc = ge::graphStatus (*)(InferDataTypeContext*);
};

}  // namespace gert

namespace ops {

enum Option { IGNORE = 0, OPTIONAL = 1, REQUIRED = 2, DYNAMIC = 3, VIRTUAL = 4 };

class OpParamDef {
  public:
    explicit OpParamDef(const char* name) { values.name = name; }
    OpParamDef& ParamType(Option param_type) { return set(values.option, int{param_type}); }
    OpParamDef& DataType(std::vector<ge::DataType> types) { return set(values.dtypes, std::move(types)); }
    OpParamDef& Format(std::vector<ge::Format> formats) { return set(values.formats, std::move(formats)); }
    OpParamDef& AutoContiguous() { return set(values.is_packed, true); }

    stand_in::Parameter values;

  private:
    template <typename T>
    OpParamDef& set(T& place, T value) {
        place = std::move(value);
        return *this;
    }
};

class OpAttrDef {
  public:
    explicit OpAttrDef(const char* name) { values.name = name; }
    OpAttrDef& AttrType(Option attr_type) {
        values.option = attr_type;
        return *this;
    }
    OpAttrDef& Int() { return *this; }
    OpAttrDef& Int(int64_t value) {
        values.value = value;
        return *this;
    }
    OpAttrDef& String() {
        values.is_text = true;
        return *this;
    }
    OpAttrDef& String(const char* value) {
        values.value = std::string(value);
        return String();
    }

    stand_in::Attribute values;
};

class OpAICoreConfig {
  public:
    OpAICoreConfig& DynamicCompileStaticFlag(bool flag) { return set("dynamicCompileStatic.flag", flag); }
    OpAICoreConfig& DynamicFormatFlag(bool flag) { return set("dynamicFormat.flag", flag); }
    OpAICoreConfig& DynamicRankSupportFlag(bool flag) { return set("dynamicRankSupport.flag", flag); }
    OpAICoreConfig& DynamicShapeSupportFlag(bool flag) { return set("dynamicShapeSupport.flag", flag); }
    OpAICoreConfig& NeedCheckSupportFlag(bool flag) { return set("needCheckSupport.flag", flag); }
    OpAICoreConfig& PrecisionReduceFlag(bool flag) { return set("precision_reduce.flag", flag); }
    OpAICoreConfig& ExtendCfgInfo(const char* key, const char* value) {
        entries[key] = value;
        return *this;
    }

    std::map<std::string, std::string> entries;

  private:
    OpAICoreConfig& set(const char* key, bool flag) { return ExtendCfgInfo(key, flag ? "true" : "false"); }
};

class OpAICoreDef {
  public:
    OpAICoreDef& SetTiling(gert::OpImplRegisterV2::TilingKernelFunc func) {
        tiling = func;
        return *this;
    }
    OpAICoreDef& LaunchWithZeroEleOutputTensors(bool launchFlag) {
        launches_without_outputs = launchFlag;
        return *this;
    }
    OpAICoreDef& AddConfig(const char* soc, OpAICoreConfig& aicore_config) {
        configs[soc] = aicore_config;
        return *this;
    }

    gert::OpImplRegisterV2::TilingKernelFunc tiling = nullptr;
    bool launches_without_outputs = false;
    std::map<std::string, OpAICoreConfig> configs;
};

class OpDef {
  public:
    explicit OpDef(const char* type) : type(type) {}
    OpParamDef& Input(const char* name) { return inputs.emplace_back(name); }
    OpParamDef& Output(const char* name) { return outputs.emplace_back(name); }
    OpAttrDef& Attr(const char* name) { return attributes.emplace_back(name); }
    OpDef& SetInferShape(gert::OpImplRegisterV2::InferShapeKernelFunc func) {
        infer_shape = func;
        return *this;
    }
    OpDef& SetInferDataType(gert::OpImplRegisterV2::InferDataTypeKernelFunc func) {
        infer_dtype = func;
        return *this;
    }
    OpAICoreDef& AICore() { return core; }

    std::string type;
    std::deque<OpParamDef> inputs, outputs;  // references to elements stay good
    std::deque<OpAttrDef> attributes;
    gert::OpImplRegisterV2::InferShapeKernelFunc infer_shape = nullptr;
    gert::OpImplRegisterV2::InferDataTypeKernelFunc infer_dtype = nullptr;
    OpAICoreDef core;
};

}  // namespace ops

namespace stand_in {

inline std::vector<std::function<ops::OpDef()>>& added_definitions() {
    static std::vector<std::function<ops::OpDef()>> all;
    return all;
}

inline bool add(std::function<ops::OpDef()> make) {
    added_definitions().push_back(std::move(make));
    return true;
}

}  // namespace stand_in

#define OP_ADD(opType)                                  \
    [[maybe_unused]] static const bool added_##opType = \
        ::stand_in::add([]() -> ::ops::OpDef { return opType(#opType); })

#endif  // ASCEND_DEEPEP_CANN_HEADERS_OP_DEF_REGISTRY_H
