// SPDX-License-Identifier: Apache-2.0
//
// Stand-in for CANN's tool op_build: from a library of operator definitions to the files that a package build wants.
// Layer: tests. `op_build LIBRARY DIRECTORY [options]` as CANN's own. The list of operators is real: the library brings
// its definitions, made with tools/cann_headers. The sources for aclnn and graphs are placeholders that compile.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "register/op_def_registry.h"

namespace {

std::string snake_case(const std::string& type) {
    std::string name;
    for (const char c : type) {
        if (c >= 'A' && c <= 'Z' && !name.empty()) name += '_';
        name += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    }
    return name;
}

const char* dtype_name(ge::DataType dtype) {
    switch (dtype) {
        case ge::DT_BF16:
            return "bfloat16";
        case ge::DT_FLOAT16:
            return "float16";
        case ge::DT_FLOAT:
            return "float32";
        case ge::DT_INT32:
            return "int32";
        case ge::DT_INT64:
            return "int64";
        case ge::DT_BOOL:
            return "bool";
        case ge::DT_INT8:
            return "int8";
        case ge::DT_FLOAT8_E4M3FN:
            return "float8_e4m3fn";
        case ge::DT_FLOAT8_E5M2:
            return "float8_e5m2";
        case ge::DT_FLOAT8_E8M0:
            return "float8_e8m0";
        default:
            std::fprintf(stderr, "op_build: no name for dtype %d\n", static_cast<int>(dtype));
            std::exit(1);
    }
}

void write_parameters(std::ostream& out, const char* kind, const std::deque<ops::OpParamDef>& parameters) {
    for (size_t i = 0; i < parameters.size(); ++i) {
        const stand_in::Parameter& values = parameters[i].values;
        std::string dtypes, formats;
        for (const ge::DataType dtype : values.dtypes) {
            dtypes += (dtypes.empty() ? "" : ",") + std::string(dtype_name(dtype));
            formats += formats.empty() ? "ND" : ",ND";
        }
        out << kind << i << ".name=" << values.name << '\n'
            << kind << i << ".paramType=" << (values.option == ops::REQUIRED ? "required" : "optional") << '\n'
            << kind << i << ".dtype=" << dtypes << '\n'
            << kind << i << ".format=" << formats << '\n';
    }
}

void write_attributes(std::ostream& out, const std::deque<ops::OpAttrDef>& attributes) {
    out << "attr.list=";
    for (size_t i = 0; i < attributes.size(); ++i)
        out << (i == 0 ? "" : ",") << attributes[i].values.name;
    out << '\n';
    for (const ops::OpAttrDef& attribute : attributes) {
        const stand_in::Attribute& values = attribute.values;
        out << "attr_" << values.name << ".type=" << (values.is_text ? "str" : "int") << '\n'
            << "attr_" << values.name << ".value=all\n"
            << "attr_" << values.name << ".paramType=" << (values.option == ops::REQUIRED ? "required" : "optional")
            << '\n';
        if (!values.value) continue;
        out << "attr_" << values.name << ".defaultValue=";
        std::visit([&out](const auto& value) { out << value; }, *values.value);
        out << '\n';
    }
}

void write_placeholders(const std::string& directory, const std::string& name) {
    std::ofstream(directory + "/aclnn_" + name + ".h") << "int aclnn_" << name << "_placeholder();\n";
    std::ofstream(directory + "/aclnn_" + name + ".cpp")
        << "#include \"aclnn_" << name << ".h\"\nint aclnn_" << name << "_placeholder() { return 0; }\n";
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3 || ::dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL) == nullptr) {
        std::fprintf(stderr, "op_build: %s\n", argc < 3 ? "LIBRARY DIRECTORY" : ::dlerror());
        return 1;
    }
    const std::string directory = argv[2];
    std::ofstream proto(directory + "/op_proto.h");
    std::ofstream(directory + "/op_proto.cc") << "#include \"op_proto.h\"\n";
    std::ofstream ini(directory + "/aic-ascend950-ops-info.ini");
    for (const auto& make : stand_in::added_definitions()) {
        const ops::OpDef definition = make();
        const std::string name = snake_case(definition.type);
        proto << "// " << definition.type << '\n';
        write_placeholders(directory, name);
        ini << '[' << definition.type << "]\n";
        write_parameters(ini, "input", definition.inputs);
        write_parameters(ini, "output", definition.outputs);
        write_attributes(ini, definition.attributes);
        for (const auto& [key, value] : definition.core.configs.at("ascend950").entries)
            ini << key << '=' << value << '\n';
        ini << "opFile.value=" << name << "\nopInterface.value=" << name << '\n';
    }
    return stand_in::added_definitions().empty() ? 1 : 0;
}
