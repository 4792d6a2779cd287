// SPDX-License-Identifier: Apache-2.0
// One dispatch and one combine through the runtime, with a result that is known without an oracle: each token chooses
// one expert with weight 1 and the experts do nothing, so what comes back is what was sent. Layer: tests.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "check.h"
#include "framework/runtime/communicator.h"
#include "simulator/scenario/call_parts.h"

namespace ascend_deepep::test {

constexpr int64_t kHidden = 64;

using simulator::tensor;

struct RoundTrip {
    Communicator& communicator;
    int64_t num_tokens;
    std::vector<uint16_t> x, expand_x, x_out;
    std::vector<int32_t> expert_ids, assist_info, ep_recv_counts;
    std::vector<int64_t> expert_token_nums;
    std::vector<float> expert_scales;
    op_host::DispatchCall dispatch_call;
    op_host::CombineCall combine_call;
    uint32_t num_rows = 0;
    // Of tensors that the calls need not have.
    const bool* x_active_mask = nullptr;
    const void* shared_expert_x = nullptr;
    int64_t* performance_info = nullptr;
    std::vector<float> expand_scales;

    // Token t of every rank goes to expert (t + shift) % experts.
    RoundTrip(Communicator& owner, int64_t tokens, int64_t shift) : communicator(owner), num_tokens(tokens) {
        const CommunicatorLimits& limits = owner.options().limits;
        const uint32_t rank = owner.options().rank;
        for (int64_t i = 0; i < tokens * kHidden; ++i) {
            x.push_back(static_cast<uint16_t>(0x3F00 + rank * 64 + (i * 7 + shift) % 61));
        }
        for (int64_t t = 0; t < tokens; ++t) {
            expert_ids.push_back(static_cast<int32_t>((t + shift) % limits.num_experts));
            expert_scales.push_back(1.0F);
        }
        op_host::CommonAttributes attributes;
        attributes.ep_world_size = limits.num_ranks;
        attributes.ep_rank_id = rank;
        attributes.moe_expert_num = limits.num_experts;
        attributes.shared_expert_num = 0;
        attributes.tp_world_size = 0;
        attributes.global_bs = int64_t{limits.max_tokens} * limits.num_ranks;
        dispatch_call.x = tensor(Dtype::kBf16, {tokens, kHidden});
        dispatch_call.expert_ids = tensor(Dtype::kInt32, {tokens, 1});
        dispatch_call.attributes = attributes;
        combine_call.expert_ids = dispatch_call.expert_ids;
        combine_call.expert_scales = tensor(Dtype::kFp32, {tokens, 1});
        combine_call.attributes = attributes;
    }

    DispatchBuffers dispatch_buffers() {
        return {.x = x.data(),
                .expert_ids = expert_ids.data(),
                .scales = nullptr,
                .x_active_mask = x_active_mask,
                .expert_scales = dispatch_call.expert_scales.is_present ? expert_scales.data() : nullptr,
                .performance_info = performance_info,
                .expand_x = expand_x.data(),
                .dynamic_scales = nullptr,
                .assist_info = assist_info.data(),
                .ep_recv_counts = ep_recv_counts.data(),
                .expert_token_nums = expert_token_nums.data(),
                .expand_scales = expand_scales.data()};
    }

    op_host::Status dispatch() {
        op_host::DispatchShapes shapes;
        op_host::Status status = communicator.check(dispatch_call, &shapes);
        if (!status.ok()) return communicator.refuse(OperationKind::kDispatch, status);
        expand_x.assign(static_cast<size_t>(shapes.capacity_rows * shapes.hidden), 0xFFFF);
        assist_info.assign(static_cast<size_t>(shapes.assist_info), -7);
        ep_recv_counts.assign(static_cast<size_t>(shapes.ep_recv_counts), -7);
        expert_token_nums.assign(static_cast<size_t>(shapes.expert_token_nums), -7);
        expand_scales.assign(static_cast<size_t>(shapes.expand_scales), -7.0F);
        combine_call.expand_x = tensor(Dtype::kBf16, {shapes.capacity_rows, kHidden});
        combine_call.assist_info_for_combine = tensor(Dtype::kInt32, {shapes.assist_info});
        combine_call.ep_send_counts = tensor(Dtype::kInt32, {shapes.ep_recv_counts});
        return communicator.dispatch(dispatch_call, dispatch_buffers(), &num_rows);
    }

    op_host::Status combine() {
        x_out.assign(x.size(), 0xFFFF);
        op_host::Status status = communicator.check(combine_call);
        if (!status.ok()) return communicator.refuse(OperationKind::kCombine, status);
        const CombineBuffers buffers{.expand_x = expand_x.data(),
                                     .expert_ids = expert_ids.data(),
                                     .assist_info = assist_info.data(),
                                     .ep_send_counts = ep_recv_counts.data(),
                                     .expert_scales = expert_scales.data(),
                                     .x_active_mask = x_active_mask,
                                     .shared_expert_x = shared_expert_x,
                                     .performance_info = performance_info,
                                     .x_out = x_out.data()};
        return communicator.combine(combine_call, buffers);
    }

    // Both, checked.
    void run() {
        const op_host::Status dispatched = dispatch();
        if (!dispatched.ok()) check::fail("dispatch", 0, dispatched.message);
        const op_host::Status combined = combine();
        if (!combined.ok()) check::fail("combine", 0, combined.message);
        CHECK(x_out == x);
    }
};

}  // namespace ascend_deepep::test
