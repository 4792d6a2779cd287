// SPDX-License-Identifier: Apache-2.0
//
// Layer: framework.
#include "framework/runtime/trace.h"

#include <utility>

#include "op_host/messages.h"

namespace ascend_deepep {
namespace {

using Inputs = std::vector<CallInput>;

void add(const char* name, const op_host::TensorInfo& tensor, Inputs* inputs) {
    if (!tensor.is_present) return;
    std::string sizes;
    for (const int64_t size : tensor.shape) {
        if (!sizes.empty()) sizes += ',';
        sizes += std::to_string(size);
    }
    inputs->push_back({name, op_host::dtype_name(tensor.dtype), sizes});
}

}  // namespace

Inputs input_shapes(const op_host::DispatchCall& call) {
    Inputs inputs;
    add("x", call.x, &inputs);
    add("expert_ids", call.expert_ids, &inputs);
    add("scales", call.scales, &inputs);
    add("x_active_mask", call.x_active_mask, &inputs);
    add("expert_scales", call.expert_scales, &inputs);
    add("performance_info", call.performance_info, &inputs);
    return inputs;
}

Inputs input_shapes(const op_host::CombineCall& call) {
    Inputs inputs;
    add("expand_x", call.expand_x, &inputs);
    add("expert_ids", call.expert_ids, &inputs);
    add("assist_info_for_combine", call.assist_info_for_combine, &inputs);
    add("ep_send_counts", call.ep_send_counts, &inputs);
    add("expert_scales", call.expert_scales, &inputs);
    add("x_active_mask", call.x_active_mask, &inputs);
    add("expand_scales", call.expand_scales, &inputs);
    add("shared_expert_x", call.shared_expert_x, &inputs);
    add("performance_info", call.performance_info, &inputs);
    return inputs;
}

const char* region_name(const WindowLayout& layout, uint64_t offset) {
    constexpr std::pair<WindowRegion, const char*> kNames[] = {
        {WindowRegion::kControlRing, "control ring"},    {WindowRegion::kAbort, "abort cells"},
        {WindowRegion::kDispatchHalf0, "dispatch half"}, {WindowRegion::kDispatchHalf1, "dispatch half"},
        {WindowRegion::kCombineHalf0, "combine half"},   {WindowRegion::kCombineHalf1, "combine half"},
    };
    for (const auto& [which, name] : kNames) {
        const Region& region = layout.regions[static_cast<uint32_t>(which)];
        if (offset >= region.offset && offset - region.offset < region.bytes) return name;
    }
    return "";
}

}  // namespace ascend_deepep
