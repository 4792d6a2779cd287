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
    const int32_t f32 = aoti_torch_dtype_float32();
    const int32_t i32 = aoti_torch_dtype_int32();
    // No kernel writes the outputs of quantisation, expert scales and tensor parallelism without these: zeros.
    DispatchOutputs outputs{device.empty({shapes.capacity_rows, shapes.hidden}, dtype_code(x), x),
                            device.zeros(shapes.dynamic_scales, f32, x),
                            device.empty({shapes.assist_info}, i32, x),
                            device.empty({shapes.expert_token_nums}, aoti_torch_dtype_int64(), x),
                            device.empty({shapes.ep_recv_counts}, i32, x),
                            device.zeros(shapes.tp_recv_counts, i32, x),
                            device.zeros(shapes.expand_scales, f32, x)};
    const DispatchBuffers buffers{.x = x.data_ptr(),
                                  .expert_ids = static_cast<const int32_t*>(expert_ids.data_ptr()),
                                  .expand_x = outputs[0].data_ptr(),
                                  .assist_info = static_cast<int32_t*>(outputs[2].data_ptr()),
                                  .ep_recv_counts = static_cast<int32_t*>(outputs[4].data_ptr()),
                                  .expert_token_nums = static_cast<int64_t*>(outputs[3].data_ptr())};
    raise_if_bad(device.launch(
        {x.get(), expert_ids.get(), outputs[0].get(), outputs[2].get(), outputs[3].get(), outputs[4].get()},
        [&] { return scope.communicator().dispatch(call, buffers, nullptr); }));
    return outputs;
}

}  // namespace ascend_deepep::ops
