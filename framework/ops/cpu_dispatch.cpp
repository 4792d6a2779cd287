// SPDX-License-Identifier: Apache-2.0
//
// CPU kernel of npu::dispatch_v2: checks, allocates the seven outputs, runs the kernels on the twin. Layer: framework.
#include <cstring>

#include "framework/ops/cpu_call.h"
#include "framework/ops/cpu_output_pool.h"
#include "framework/ops/errors.h"

namespace ascend_deepep::ops {
namespace {

// Outputs that no kernel writes without quantisation, expert scales and tensor parallelism.
Tensor zeros(int64_t size, int32_t dtype) {
    Tensor tensor = make_output({size}, dtype);
    const size_t bytes = static_cast<size_t>(size) * tensor.element_size();
    if (bytes > 0) std::memset(tensor.data_ptr(), 0, bytes);  // an empty tensor has no address
    return tensor;
}

}  // namespace

DispatchOutputs cpu_dispatch(const DispatchArguments& a) {
    const std::shared_ptr<Communicator> communicator = find_or_raise(a.group_ep);
    const op_host::DispatchCall call = describe(a, aoti_torch_device_type_cpu());
    op_host::DispatchShapes shapes;
    const op_host::Status status = communicator->check(call, &shapes);
    if (!status.ok()) refuse_and_raise(*communicator, OperationKind::kDispatch, status);

    const Tensor x = contiguous(a.x);
    const Tensor expert_ids = contiguous(a.expert_ids);
    const int32_t f32 = aoti_torch_dtype_float32();
    const int32_t i32 = aoti_torch_dtype_int32();
    DispatchOutputs outputs{make_output({shapes.capacity_rows, shapes.hidden}, dtype_code(x)),
                            zeros(shapes.dynamic_scales, f32),
                            make_output({shapes.assist_info}, i32),
                            make_output({shapes.expert_token_nums}, aoti_torch_dtype_int64()),
                            make_output({shapes.ep_recv_counts}, i32),
                            zeros(shapes.tp_recv_counts, i32),
                            zeros(shapes.expand_scales, f32)};
    const DispatchBuffers buffers{.x = x.data_ptr(),
                                  .expert_ids = static_cast<const int32_t*>(expert_ids.data_ptr()),
                                  .expand_x = outputs[0].data_ptr(),
                                  .assist_info = static_cast<int32_t*>(outputs[2].data_ptr()),
                                  .ep_recv_counts = static_cast<int32_t*>(outputs[4].data_ptr()),
                                  .expert_token_nums = static_cast<int64_t*>(outputs[3].data_ptr())};
    op_host::Status outcome;
    {
        const ReleasedGil released;
        uint32_t num_rows = 0;
        outcome = communicator->dispatch(call, buffers, &num_rows);
    }
    raise_if_bad(outcome);
    return outputs;
}

}  // namespace ascend_deepep::ops
