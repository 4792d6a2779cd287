// SPDX-License-Identifier: Apache-2.0
// Wording of the warning about VF arguments. Layer: twin/runtime.
#include "twin/runtime/vf_arguments.h"

#include <cstdio>
#include <string>

#include "twin/runtime/rules.h"

namespace ascend_deepep::twin {
namespace {

// g++ writes "[with auto funcPtr = name; ...]", clang "[funcPtr = &name, ...]".
std::string function_in(const std::string& pretty) {
    const std::string mark = "function = ";
    const size_t at = pretty.find(mark);
    if (at == std::string::npos) return pretty;
    const size_t first = pretty.find_first_not_of("&", at + mark.size());
    return pretty.substr(first, pretty.find_first_of(";,]", first) - first);
}

}  // namespace

void warn_vf_arguments(const char* pretty, uint32_t words) {
    std::fprintf(
        stderr,
        "ascend_deepep twin: warning: asc_vf_call<%s>: [%s] %s (got %u, limit %u); put parameters into UB or GM "
        "and pass a pointer\n",
        function_in(pretty).c_str(), rules::kVfArgumentWords.name, rules::kVfArgumentWords.text, words,
        kMaxVfArgumentWords);
}

}  // namespace ascend_deepep::twin
