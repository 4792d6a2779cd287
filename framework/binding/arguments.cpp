// SPDX-License-Identifier: Apache-2.0
//
// From Python's words to the contract's numbers. Layer: framework.
#include "framework/binding/arguments.h"

#include <pybind11/pybind11.h>

#include "op_host/messages.h"

namespace ascend_deepep::binding {

namespace py = pybind11;

CommunicatorLimits make_limits(uint32_t num_ranks, uint32_t max_tokens, uint32_t hidden, uint32_t num_topk,
                               uint32_t num_experts, uint32_t shared_expert_num, uint32_t per_expert_copies,
                               uint32_t combine_reduce) {
    return {num_ranks, max_tokens, hidden, num_topk, num_experts, shared_expert_num, per_expert_copies, combine_reduce};
}

CombineEngine engine_from(const std::string& name) {
    if (name == "mte") return CombineEngine::kMte;
    if (name == "urma") return CombineEngine::kUrma;
    throw py::value_error("combine_engine is '" + name + "': it is 'mte' or 'urma'");
}

Dtype dtype_from(const std::string& argument, const std::string& name) {
    for (auto dtype = static_cast<uint32_t>(Dtype::kBf16); dtype < static_cast<uint32_t>(Dtype::kOther); ++dtype) {
        if (name == op_host::dtype_name(static_cast<Dtype>(dtype))) return static_cast<Dtype>(dtype);
    }
    throw py::value_error(argument + " is '" + name + "': a dtype as torch spells it is needed, such as 'bfloat16'");
}

}  // namespace ascend_deepep::binding
