// SPDX-License-Identifier: Apache-2.0
//
// A good call of each operator, for tests to spoil one argument at a time. Layer: tests.
// 4 ranks, this one rank 1, 8 tokens of 1024, top-2 of 8 experts; the communicator allows a little more of everything.
#ifndef ASCEND_DEEPEP_TESTS_OP_HOST_SAMPLE_CALLS_H
#define ASCEND_DEEPEP_TESTS_OP_HOST_SAMPLE_CALLS_H

#include <utility>

#include "contract/window_layout.h"
#include "op_host/calls.h"

namespace ascend_deepep::op_host {

constexpr CommunicatorLimits kSampleLimits = {4, 16, 2048, 4, 16, 1};
constexpr uint32_t kSampleRank = 1;

inline TensorInfo tensor(Dtype dtype, std::vector<int64_t> shape) {
    TensorInfo info;
    info.is_present = true;
    info.dtype = dtype;
    info.shape = std::move(shape);
    return info;
}

inline CommonAttributes sample_attributes() {
    CommonAttributes a;
    a.ep_world_size = 4;
    a.ep_rank_id = 1;
    a.moe_expert_num = 8;
    return a;
}

inline DispatchCall sample_dispatch() {
    DispatchCall call;
    call.x = tensor(Dtype::kBf16, {8, 1024});
    call.expert_ids = tensor(Dtype::kInt32, {8, 2});
    call.attributes = sample_attributes();
    return call;
}

// 64 = 8 tokens x 4 ranks x 2 rows a token.
inline CombineCall sample_combine() {
    CombineCall call;
    call.expand_x = tensor(Dtype::kBf16, {64, 1024});
    call.expert_ids = tensor(Dtype::kInt32, {8, 2});
    call.assist_info_for_combine = tensor(Dtype::kInt32, {64 * 128});
    call.ep_send_counts = tensor(Dtype::kInt32, {4 * 2});
    call.expert_scales = tensor(Dtype::kFp32, {8, 2});
    call.attributes = sample_attributes();
    return call;
}

}  // namespace ascend_deepep::op_host

#endif  // ASCEND_DEEPEP_TESTS_OP_HOST_SAMPLE_CALLS_H
