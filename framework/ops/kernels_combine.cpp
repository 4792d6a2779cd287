// SPDX-License-Identifier: Apache-2.0
//
// npu::combine_v2 for tensors with data: checks, allocates the output, launches. Layer: framework.
#include "framework/ops/kernels.h"
#include "framework/ops/kernels_call.h"

namespace ascend_deepep::ops {

Tensor run_combine(const KernelDevice& device, const CombineArguments& a) {
    const CallScope scope(a.group_ep);
    const op_host::CombineCall call = describe(a, scope.device());
    const op_host::Status status = scope.communicator().check(call);
    if (!status.ok()) scope.refuse_and_raise(OperationKind::kCombine, status);

    const Tensor expand_x = device.plain(a.expand_x);
    const Tensor expert_ids = device.plain(a.expert_ids);
    const Tensor assist_info = device.plain(a.assist_info_for_combine);
    const Tensor ep_send_counts = device.plain(a.ep_send_counts);
    const bool is_weighted = op_host::has_expert_scales(call);
    const Tensor expert_scales = is_weighted ? device.plain(a.expert_scales) : a.expert_scales;
    const PlainTensor mask(device, a.x_active_mask);
    const PlainTensor expand_scales(device, a.expand_scales);
    const PlainTensor shared_expert_x(device, a.shared_expert_x);
    PlainTensor performance(device, a.performance_info);
    Tensor x_out = device.empty({expert_ids.size(0), expand_x.size(1)}, dtype_code(expand_x), expand_x);
    const CombineBuffers buffers{
        .expand_x = expand_x.data_ptr(),
        .expert_ids = static_cast<const int32_t*>(expert_ids.data_ptr()),
        .assist_info = static_cast<const int32_t*>(assist_info.data_ptr()),
        .ep_send_counts = static_cast<const int32_t*>(ep_send_counts.data_ptr()),
        .expert_scales = is_weighted ? static_cast<const float*>(expert_scales.data_ptr()) : nullptr,
        .x_active_mask = mask.data<bool>(),
        .shared_expert_x = shared_expert_x.data<void>(),
        .performance_info = performance.data<int64_t>(),
        .x_out = x_out.data_ptr(),
        .expand_scales = expand_scales.data<float>()};
    std::vector<AtenTensorHandle> used{expand_x.get(),       expert_ids.get(),    assist_info.get(),
                                       ep_send_counts.get(), expert_scales.get(), x_out.get()};
    for (const PlainTensor* tensor :
         {&mask, &expand_scales, &shared_expert_x, static_cast<const PlainTensor*>(&performance)})
        tensor->add_to(&used);
    raise_if_bad(device.launch(used, [&] { return scope.communicator().combine(call, buffers); }));
    performance.write_back();
    return x_out;
}

}  // namespace ascend_deepep::ops
