// SPDX-License-Identifier: Apache-2.0
//
// Arguments that several functions of the binding take. Layer: framework, the Python binding.
#ifndef ASCEND_DEEPEP_FRAMEWORK_BINDING_ARGUMENTS_H
#define ASCEND_DEEPEP_FRAMEWORK_BINDING_ARGUMENTS_H

#include <string>

#include "contract/tiling_data.h"

namespace ascend_deepep::binding {

CommunicatorLimits make_limits(uint32_t num_ranks, uint32_t max_tokens, uint32_t hidden, uint32_t num_topk,
                               uint32_t num_experts, uint32_t shared_expert_num, uint32_t per_expert_copies,
                               uint32_t combine_reduce);

// Both by name; any other name is Python's ValueError.
CombineEngine engine_from(const std::string& name);
Dtype dtype_from(const std::string& argument, const std::string& name);  // as torch spells it: "bfloat16"

}  // namespace ascend_deepep::binding

#endif  // ASCEND_DEEPEP_FRAMEWORK_BINDING_ARGUMENTS_H
