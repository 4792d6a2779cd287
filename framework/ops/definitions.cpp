// SPDX-License-Identifier: Apache-2.0
//
// Defines torch.ops.npu.dispatch_v2 and combine_v2, their Meta kernels, and who owns them. Layer: framework.
// A library of its own: a process may hold these definitions only once, but kernels for several devices.
#include <torch/csrc/stable/library.h>

#include <algorithm>

#include "contract/limits.h"
#include "framework/ops/arguments.h"
#include "framework/ops/errors.h"
#include "framework/ops/library_path.h"
#include "framework/ops/schema.h"
#include "op_host/check.h"
#include "op_host/error_class.h"

namespace ascend_deepep::ops {
namespace {

constexpr op_host::TensorDevice kMetaDevice{op_host::DeviceType::kMeta, 0};

DispatchKernel mixed_device_dispatch = nullptr;
CombineKernel mixed_device_combine = nullptr;

void raise_if_bad(const op_host::Status& status) {
    if (!status.ok()) raise_error(op_host::error_class(status), status.message, ErrorAttributes{});
}

// A refusal is this rank's own: there is no communicator here that could say so.
op_host::Status of_rank(uint32_t rank, op_host::Status status) {
    status.record.rank = rank;
    return status;
}

Tensor meta_tensor(std::initializer_list<int64_t> shape, int32_t dtype) {
    return empty_tensor(shape, dtype, aoti_torch_device_type_meta(), 0);
}

// Any communicator's limits that this call fits. Clamped, so that the check finds the fault, not this.
CommunicatorLimits widest_limits(const op_host::CommonAttributes& attributes, const op_host::TensorInfo& x,
                                 const op_host::TensorInfo& expert_ids) {
    const auto limit = [](int64_t value, uint32_t low, uint32_t high) {
        return static_cast<uint32_t>(std::clamp<int64_t>(value, low, high));
    };
    const auto size = [](const op_host::TensorInfo& info) { return info.shape.size() == 2 ? info.shape[1] : 0; };
    CommunicatorLimits limits{};
    limits.num_ranks = limit(attributes.ep_world_size, 1, kMaxRanks);
    limits.max_tokens = kMaxTokens;
    limits.hidden = limit(size(x), kMinHidden, kMaxHidden);
    limits.num_topk = limit(size(expert_ids), 1, kMaxTopk);
    limits.num_experts = limit(attributes.moe_expert_num, 1, kMaxExperts);
    limits.shared_expert_num = kMaxSharedExperts;
    limits.per_expert_copies = 1;
    return limits;
}

template <class... Infos>
bool is_mixed(const Infos&... infos) {
    return ((infos.is_present && infos.device != kMetaDevice) || ...);
}

DispatchOutputs meta_dispatch(const DispatchArguments& a) {
    const op_host::DispatchCall call = describe(a, kMetaDevice);
    if (mixed_device_dispatch != nullptr && is_mixed(call.x, call.expert_ids, call.scales, call.x_active_mask,
                                                     call.expert_scales, call.elastic_info, call.performance_info)) {
        return mixed_device_dispatch(a);
    }
    op_host::DispatchShapes s;
    const CommunicatorLimits limits = widest_limits(call.attributes, call.x, call.expert_ids);
    const auto rank = static_cast<uint32_t>(call.attributes.ep_rank_id);
    raise_if_bad(of_rank(rank, op_host::check_dispatch(limits, rank, call, &s)));
    DispatchOutputs outputs;
    const std::array<OutputSpec, 7> specs = output_specs(a, s);
    for (size_t i = 0; i < specs.size(); ++i) {
        const OutputSpec& spec = specs[i];
        outputs[i] = spec.columns == 0 ? meta_tensor({spec.rows}, spec.dtype)
                                       : meta_tensor({spec.rows, spec.columns}, spec.dtype);
    }
    return outputs;
}

Tensor meta_combine(const CombineArguments& a) {
    const op_host::CombineCall call = describe(a, kMetaDevice);
    if (mixed_device_combine != nullptr &&
        is_mixed(call.expand_x, call.expert_ids, call.assist_info_for_combine, call.ep_send_counts, call.expert_scales,
                 call.tp_send_counts, call.x_active_mask, call.expand_scales, call.shared_expert_x, call.elastic_info,
                 call.ori_x, call.const_expert_alpha_1, call.const_expert_alpha_2, call.const_expert_v,
                 call.performance_info)) {
        return mixed_device_combine(a);
    }
    const CommunicatorLimits limits = widest_limits(call.attributes, call.expand_x, call.expert_ids);
    const auto rank = static_cast<uint32_t>(call.attributes.ep_rank_id);
    raise_if_bad(of_rank(rank, op_host::check_combine(limits, rank, call)));
    return meta_tensor({call.expert_ids.shape[0], call.expand_x.shape[1]}, dtype_code(a.expand_x));
}

void boxed_owner(StableIValue* stack, uint64_t /*num_arguments*/, uint64_t /*num_outputs*/) {
    stack[0] = torch::stable::detail::from(library_path_of(&boxed_owner));
}

void boxed_abi(StableIValue* stack, uint64_t /*num_arguments*/, uint64_t /*num_outputs*/) {
    stack[0] = torch::stable::detail::from(static_cast<int64_t>(kLayoutAbi));
}

}  // namespace

void set_mixed_device_kernels(DispatchKernel dispatch, CombineKernel combine) {
    mixed_device_dispatch = dispatch;
    mixed_device_combine = combine;
}

}  // namespace ascend_deepep::ops

// Fragments: another library may hold TORCH_LIBRARY(npu), of which there is one a process.
STABLE_TORCH_LIBRARY_FRAGMENT(npu, m) {
    m.def(ascend_deepep::ops::kDispatchSchema);
    m.def(ascend_deepep::ops::kCombineSchema);
}

STABLE_TORCH_LIBRARY_FRAGMENT(ascend_deepep, m) {
    m.def(ascend_deepep::ops::kOrderedDispatchSchema);
    m.def(ascend_deepep::ops::kOrderedCombineSchema);
    m.def("owner() -> str");
    m.def("abi() -> int");
}

STABLE_TORCH_LIBRARY_IMPL(ascend_deepep, CompositeExplicitAutograd, m) {
    m.impl("owner", &ascend_deepep::ops::boxed_owner);
    m.impl("abi", &ascend_deepep::ops::boxed_abi);
}

STABLE_TORCH_LIBRARY_IMPL(npu, Meta, m) {
    m.impl("dispatch_v2", &ascend_deepep::ops::boxed_dispatch<ascend_deepep::ops::meta_dispatch>);
    m.impl("combine_v2", &ascend_deepep::ops::boxed_combine<ascend_deepep::ops::meta_combine>);
}

STABLE_TORCH_LIBRARY_IMPL(ascend_deepep, Meta, m) {
    m.impl("ordered_dispatch_v2", &ascend_deepep::ops::boxed_dispatch<ascend_deepep::ops::meta_dispatch>);
    m.impl("ordered_combine_v2", &ascend_deepep::ops::boxed_combine<ascend_deepep::ops::meta_combine>);
}
