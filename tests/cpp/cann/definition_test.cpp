// SPDX-License-Identifier: Apache-2.0
//
// The definitions of the operator package say what the torch schemas and op_host say: names, order, optional or not,
// defaults, dtypes. Layer: tests. The schema is read here as text, by a parser of its own.
#include "check.h"
#include "contexts.h"
#include "framework/ops/schema.h"
#include "op_host/arguments.h"
#include "op_host/cann/context.h"
#include "op_host/messages.h"

using namespace ascend_deepep;
using namespace ascend_deepep::test;

namespace {

struct SchemaArgument {
    std::string type, name, value;
    bool has_value = false;
};

struct Schema {
    std::vector<SchemaArgument> tensors, attributes;
    size_t num_outputs = 0;
};

std::vector<std::string> split(const std::string& text) {
    std::vector<std::string> parts;
    for (size_t start = 0; start < text.size();) {
        const size_t end = std::min(text.find(", ", start), text.size());
        parts.push_back(text.substr(start, end - start));
        start = end + 2;
    }
    return parts;
}

SchemaArgument parse_argument(const std::string& text) {
    SchemaArgument argument;
    const size_t space = text.rfind(' ');
    argument.type = text.substr(0, space);
    argument.name = text.substr(space + 1);
    const size_t equals = argument.name.find('=');
    if (equals != std::string::npos) {
        argument.has_value = true;
        argument.value = argument.name.substr(equals + 1);
        argument.name.resize(equals);
    }
    return argument;
}

Schema parse(const std::string& text) {
    Schema schema;
    const size_t arrow = text.find(") -> ");
    const size_t open = text.find('(');
    for (const std::string& part : split(text.substr(open + 1, arrow - open - 1))) {
        if (part == "*") continue;
        const SchemaArgument argument = parse_argument(part);
        (argument.type.rfind("Tensor", 0) == 0 ? schema.tensors : schema.attributes).push_back(argument);
    }
    schema.num_outputs = split(text.substr(arrow + 5)).size();
    return schema;
}

void compare_attribute(const stand_in::Attribute& got, const SchemaArgument& want) {
    CHECK_EQ(got.name, want.name);
    CHECK_EQ(got.is_text, want.type == "str");
    CHECK_EQ(got.option, int{want.has_value ? ::ops::OPTIONAL : ::ops::REQUIRED});
    CHECK_EQ(got.value.has_value(), want.has_value);
    if (!want.has_value || !got.value) return;
    if (got.is_text) {
        CHECK_EQ("\"" + std::get<std::string>(*got.value) + "\"", want.value);
    } else {
        const std::string none = std::to_string(cann::kNoDtype);
        CHECK_EQ(std::to_string(std::get<int64_t>(*got.value)), want.value == "None" ? none : want.value);
    }
}

void compare(const char* type, const char* schema_text) {
    const ::ops::OpDef made = definition(type);
    const Schema schema = parse(schema_text);
    CHECK_EQ(made.inputs.size(), schema.tensors.size());
    for (size_t i = 0; i < std::min(made.inputs.size(), schema.tensors.size()); ++i) {
        const stand_in::Parameter& input = made.inputs[i].values;
        CHECK_EQ(input.name, schema.tensors[i].name);
        const bool is_optional = schema.tensors[i].type.back() == '?';
        CHECK_EQ(input.option, int{is_optional ? ::ops::OPTIONAL : ::ops::REQUIRED});
        CHECK(input.is_packed);
    }
    CHECK_EQ(made.attributes.size(), schema.attributes.size());
    for (size_t i = 0; i < std::min(made.attributes.size(), schema.attributes.size()); ++i)
        compare_attribute(made.attributes[i].values, schema.attributes[i]);
    CHECK_EQ(made.outputs.size(), schema.num_outputs);
}

const op_host::TensorArgument* find_argument(const std::string& name) {
    for (uint32_t code = 1; code < static_cast<uint32_t>(Field::kCount); ++code) {
        const auto field = static_cast<Field>(code);
        const std::string known = op_host::field_name(field);
        if (known == name && op_host::find_tensor(field) != nullptr) return op_host::find_tensor(field);
    }
    return nullptr;
}

void compare_dtypes(const char* type) {
    for (const ::ops::OpParamDef& input : definition(type).inputs) {
        const op_host::TensorArgument* argument = find_argument(input.values.name);
        CHECK(argument != nullptr);
        if (argument == nullptr) continue;
        uint32_t registered = 0;
        for (const ge::DataType dtype : input.values.dtypes)
            registered |= op_host::dtype_bit(cann::dtype_of(dtype));
        CHECK_EQ(registered & ~argument->dtypes, 0U);
        // Tokens and scales: torch's carriers of bytes come with dtypes that CANN registers by name.
        if (input.values.name != "scales" && input.values.name != "x") CHECK_EQ(registered, argument->dtypes);
    }
}

}  // namespace

TEST(the_schema_parser_reads_what_it_should) {
    const Schema schema = parse("f(Tensor a, str b, *, Tensor? c=None, int d=1, str e=\"\") -> (Tensor, Tensor)");
    CHECK_EQ(schema.tensors.size(), 2U);
    CHECK(schema.tensors[1].type == "Tensor?" && schema.tensors[1].name == "c");
    CHECK_EQ(schema.attributes.size(), 3U);
    CHECK(!schema.attributes[0].has_value && schema.attributes[1].value == "1");
    CHECK_EQ(schema.attributes[2].value, "\"\"");
    CHECK_EQ(schema.num_outputs, 2U);
}

TEST(dispatch_is_defined_as_its_schema) {
    compare("DispatchV2", ascend_deepep::ops::kDispatchSchema);
}

TEST(combine_is_defined_as_its_schema) {
    compare("CombineV2", ascend_deepep::ops::kCombineSchema);
}

TEST(inputs_have_the_dtypes_that_op_host_accepts) {
    compare_dtypes("DispatchV2");
    compare_dtypes("CombineV2");
}

TEST(both_operators_are_for_ascend950_and_always_launched) {
    CHECK_EQ(stand_in::added_definitions().size(), 2U);
    for (const char* type : {"DispatchV2", "CombineV2"}) {
        const ::ops::OpDef made = definition(type);
        CHECK_EQ(made.core.configs.size(), 1U);
        CHECK_EQ(made.core.configs.count("ascend950"), 1U);
        CHECK(made.core.launches_without_outputs);
        CHECK(made.core.tiling != nullptr && made.infer_shape != nullptr && made.infer_dtype != nullptr);
        for (const auto* parameters : {&made.inputs, &made.outputs}) {
            for (const ::ops::OpParamDef& parameter : *parameters) {
                CHECK_EQ(parameter.values.dtypes.size(), cann::kNumColumns);
                CHECK_EQ(parameter.values.formats.size(), cann::kNumColumns);
            }
        }
    }
}
