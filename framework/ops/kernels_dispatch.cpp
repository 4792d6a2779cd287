// SPDX-License-Identifier: Apache-2.0
//
// npu::dispatch_v2 for tensors with data: checks, allocates the seven outputs, launches. Layer: framework.
#include "framework/ops/kernels.h"
#include "framework/ops/kernels_call.h"

namespace ascend_deepep::ops {

DispatchOutputs run_dispatch(const KernelDevice& device, const DispatchArguments& a) {
    const CallScope scope(a.group_ep);
    const op_host::DispatchCall call = describe(a, scope.device());
    op_host::DispatchShapes shapes;
    const op_host::Status status = scope.communicator().check(call, &shapes);
    if (!status.ok()) scope.refuse_and_raise(OperationKind::kDispatch, status);

    const Tensor x = device.plain(a.x);
    const Tensor expert_ids = device.plain(a.expert_ids);
    const PlainTensor scales(device, a.scales);
    const PlainTensor mask(device, a.x_active_mask);
    const PlainTensor expert_scales(device, a.expert_scales);
    PlainTensor performance(device, a.performance_info);
    DispatchOutputs outputs;
    const std::array<OutputSpec, 7> specs = output_specs(a, shapes);
    for (size_t i = 0; i < specs.size(); ++i)
        outputs[i] = make_output(device, specs[i], x);
    const DispatchBuffers buffers{
        .x = x.data_ptr(),
        .expert_ids = static_cast<const int32_t*>(expert_ids.data_ptr()),
        .scales = scales.data<void>(),
        .x_active_mask = mask.data<bool>(),
        .expert_scales = expert_scales.data<float>(),
        .performance_info = performance.data<int64_t>(),
        .expand_x = outputs[0].data_ptr(),
        .dynamic_scales = specs[1].is_zeros ? nullptr : outputs[1].data_ptr(),
        .assist_info = static_cast<int32_t*>(outputs[2].data_ptr()),
        .ep_recv_counts = static_cast<int32_t*>(outputs[4].data_ptr()),
        .expert_token_nums = static_cast<int64_t*>(outputs[3].data_ptr()),
        .expand_scales = specs[6].is_zeros ? nullptr : static_cast<float*>(outputs[6].data_ptr())};
    std::vector<AtenTensorHandle> used{x.get(), expert_ids.get()};
    for (const PlainTensor* tensor : {&scales, &mask, &expert_scales, static_cast<const PlainTensor*>(&performance)})
        tensor->add_to(&used);
    for (size_t i = 0; i < specs.size(); ++i) {
        if (!specs[i].is_zeros) used.push_back(outputs[i].get());
    }
    raise_if_bad(device.launch(used, [&] { return scope.communicator().dispatch(call, buffers, nullptr); }));
    performance.write_back();
    return outputs;
}

}  // namespace ascend_deepep::ops
