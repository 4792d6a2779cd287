// SPDX-License-Identifier: Apache-2.0
//
// The definitions of the operator package say what the torch schemas and op_host say: names, order, optional or not,
// defaults, dtypes; and a column of dtypes for each legal call, none for no call. Layer: tests. The schema is read here
// as text, by a parser of its own.
#include <set>

#include "check.h"
#include "contexts.h"
#include "framework/ops/schema.h"
#include "op_host/arguments.h"
#include "op_host/cann/context.h"
#include "op_host/check.h"
#include "op_host/messages.h"
#include "op_host/sample_calls.h"

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
        // Torch has tensors of bytes for float8; in CANN the dtypes that they stand for have names.
        CHECK_EQ(registered, argument->dtypes & ~op_host::dtype_bit(Dtype::kUint8));
    }
}

// Dtypes of x, scales, expand_x and dynamic_scales.
using Four = std::array<ge::DataType, 4>;

const std::vector<ge::DataType>& dtypes_of(const std::deque<::ops::OpParamDef>& parameters, const std::string& name) {
    for (const ::ops::OpParamDef& parameter : parameters) {
        if (parameter.values.name == name) return parameter.values.dtypes;
    }
    throw std::runtime_error("no parameter " + name);
}

std::set<Four> registered_columns() {
    const ::ops::OpDef made = definition("DispatchV2");
    const auto& x = dtypes_of(made.inputs, "x");
    const auto& scales = dtypes_of(made.inputs, "scales");
    const auto& expand_x = dtypes_of(made.outputs, "expand_x");
    const auto& dynamic_scales = dtypes_of(made.outputs, "dynamic_scales");
    std::set<Four> columns;
    for (size_t i = 0; i < x.size(); ++i)
        columns.insert({x[i], scales[i], expand_x[i], dynamic_scales[i]});
    CHECK_EQ(columns.size(), x.size());  // none twice
    return columns;
}

constexpr CommunicatorLimits kLimits = {4, 16, 2048, 4, 16, 1, 1};
constexpr ge::DataType kTypes[] = {ge::DT_FLOAT,       ge::DT_FLOAT16,       ge::DT_INT8,
                                   ge::DT_INT32,       ge::DT_UINT8,         ge::DT_BF16,
                                   ge::DT_FLOAT8_E5M2, ge::DT_FLOAT8_E4M3FN, ge::DT_FLOAT8_E8M0};

// The shapes that these tokens and this mode need.
stand_in::ContextValues call_values(ge::DataType x, ge::DataType scales, int64_t quant_mode, int64_t y_dtype) {
    cann::DispatchArguments arguments{op_host::sample_dispatch(), "group"};
    arguments.call.quant_mode = quant_mode;
    arguments.y_dtype = y_dtype;
    stand_in::ContextValues values = values_of(arguments);
    values.inputs[0]->dtype = x;
    if (scales != ge::DT_UNDEFINED) values.inputs[2] = cann_tensor(scales, {8, quant_mode == 0 ? 32 : 1024});
    return values;
}

// The column of a call that op_host takes; none of one that it refuses.
std::optional<Four> legal_column(ge::DataType x, ge::DataType scales, int64_t quant_mode, int64_t y_dtype) {
    stand_in::ContextValues values = call_values(x, scales, quant_mode, y_dtype);
    const gert::TilingContext context(values);
    const auto arguments = cann::read<cann::DispatchArguments>(context);
    op_host::DispatchShapes shapes;
    if (!op_host::check_dispatch(kLimits, op_host::kSampleRank, arguments.call, &shapes).ok()) return std::nullopt;
    // Torch has no dtype for what MX gives, op_host says bytes.
    const Dtype row_scales = shapes.scale_dtype == Dtype::kUint8 ? Dtype::kE8m0 : shapes.scale_dtype;
    return Four{x, scales == ge::DT_UNDEFINED ? ge::DT_FLOAT : scales, cann_dtype(shapes.expand_dtype),
                cann_dtype(row_scales)};
}

void check_inferred(ge::DataType x, ge::DataType scales, int64_t quant_mode, int64_t y_dtype, const Four& column) {
    stand_in::ContextValues values = call_values(x, scales, quant_mode, y_dtype);
    gert::InferDataTypeContext context(values);
    CHECK_EQ(definition("DispatchV2").infer_dtype(&context), ge::GRAPH_SUCCESS);
    CHECK_EQ(values.outputs[cann::kExpandX].dtype, column[2]);
    CHECK_EQ(values.outputs[cann::kDynamicScales].dtype, column[3]);
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

TEST(each_legal_dispatch_has_a_column_and_each_column_a_legal_dispatch) {
    std::set<Four> legal;
    std::vector<ge::DataType> scales_types(std::begin(kTypes), std::end(kTypes));
    scales_types.push_back(ge::DT_UNDEFINED);  // absent
    for (const ge::DataType x : kTypes) {
        for (const ge::DataType scales : scales_types) {
            for (int64_t quant_mode = 0; quant_mode <= 5; ++quant_mode) {
                for (int64_t y_dtype = 0; y_dtype < 42; ++y_dtype) {
                    const auto column = legal_column(x, scales, quant_mode, y_dtype);
                    if (!column) continue;
                    check_inferred(x, scales, quant_mode, y_dtype, *column);
                    legal.insert(*column);
                }
            }
        }
    }
    CHECK(legal == registered_columns());
    // bf16 and fp16: as they are, int8, two of float8 with two dtypes of scales. Two of float8 with two of scales.
    CHECK_EQ(legal.size(), 2U * 6 + 4);
}

TEST(numbers_of_dtypes_are_canns) {
    const std::pair<int64_t, std::optional<int64_t>> cases[] = {
        {28, std::nullopt},
        {2, 1},
        {27, 15},
        {1, 5},
        {0, 6},
        {35, 23},
        {36, 24},
        {37, 44},
        // Of a later release, as torch_npu numbers them: op_host says so. Then one that is no element type here.
        {34, 290},
        {40, 296},
        {41, 297},
        {24, 280},
        // torch_npu's own, and nobody's.
        {292, 292},
        {1000, 1000},
        {-5, -5}};
    for (const auto& [number, want] : cases) {
        cann::DispatchArguments arguments{op_host::sample_dispatch(), "group"};
        arguments.y_dtype = arguments.x_dtype = arguments.scales_dtype = number;
        stand_in::ContextValues values = values_of(arguments);
        const gert::TilingContext context(values);
        const op_host::DispatchCall call = cann::read<cann::DispatchArguments>(context).call;
        CHECK(call.y_dtype == want && call.x_dtype == want && call.scales_dtype == want);
    }
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
                CHECK_EQ(parameter.values.dtypes.size(), made.inputs[0].values.dtypes.size());
                CHECK_EQ(parameter.values.formats.size(), made.inputs[0].values.dtypes.size());
            }
        }
    }
}
