// SPDX-License-Identifier: Apache-2.0
//
// Stand-in (tools/cann_headers/README.md): what all contexts answer, attributes and descriptions of tensors.
#ifndef ASCEND_DEEPEP_CANN_HEADERS_EXTENDED_KERNEL_CONTEXT_H
#define ASCEND_DEEPEP_CANN_HEADERS_EXTENDED_KERNEL_CONTEXT_H

#include "stand_in/context_values.h"

namespace gert {

class CompileTimeTensorDesc {
  public:
    explicit CompileTimeTensorDesc(ge::DataType type) : type_(type) {}
    ge::DataType GetDataType() const { return type_; }

  private:
    ge::DataType type_;
};

// A pointer to an attribute's value; null where the index or the kind is wrong.
class RuntimeAttrs {
  public:
    explicit RuntimeAttrs(const stand_in::ContextValues& values) : values_(values) {}
    const int64_t* GetInt(const size_t index) const {
        return index < values_.attributes.size() ? std::get_if<int64_t>(&values_.attributes[index]) : nullptr;
    }
    const char* GetStr(const size_t index) const {
        const auto* text =
            index < values_.attributes.size() ? std::get_if<std::string>(&values_.attributes[index]) : nullptr;
        return text == nullptr ? nullptr : text->c_str();
    }
    size_t GetAttrNum() const { return values_.attributes.size(); }

  private:
    const stand_in::ContextValues& values_;
};

class ExtendedKernelContext {
  public:
    explicit ExtendedKernelContext(stand_in::ContextValues& values) : values_(values), attrs_(values) {
        for (const auto& input : values.inputs)
            descriptions_.emplace_back(input ? input->dtype : ge::DT_UNDEFINED);
        for (const auto& output : values.outputs)
            output_descriptions_.emplace_back(output.dtype);
    }
    const char* GetNodeName() const { return values_.node.c_str(); }
    const RuntimeAttrs* GetAttrs() const { return &attrs_; }
    const CompileTimeTensorDesc* GetOptionalInputDesc(const size_t ir_index) const {
        return input(ir_index) == nullptr ? nullptr : &descriptions_[ir_index];
    }
    const CompileTimeTensorDesc* GetOutputDesc(const size_t index) const {
        return index < output_descriptions_.size() ? &output_descriptions_[index] : nullptr;
    }

  protected:
    const stand_in::Tensor* input(size_t ir_index) const {
        return ir_index < values_.inputs.size() && values_.inputs[ir_index] ? &*values_.inputs[ir_index] : nullptr;
    }

    stand_in::ContextValues& values_;

  private:
    RuntimeAttrs attrs_;
    std::vector<CompileTimeTensorDesc> descriptions_, output_descriptions_;
};

}  // namespace gert

#endif  // ASCEND_DEEPEP_CANN_HEADERS_EXTENDED_KERNEL_CONTEXT_H
