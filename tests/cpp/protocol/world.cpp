// SPDX-License-Identifier: Apache-2.0
// Threads as ranks: windows, engine, tiling, launch. Layer: tests.
#include "world.h"

#include <unistd.h>

#include <cstring>
#include <stdexcept>
#include <thread>
#include <utility>

#include "check.h"
#include "framework/runtime/kernel_library.h"
#include "op_host/check.h"
#include "op_host/roles.h"
#include "simulator/scenario/call_parts.h"
#include "twin/runtime/launch.h"

namespace ascend_deepep::test {
namespace {

constexpr uint64_t kNonce = 77;

// A copy of the data that begins `shift` elements behind its (64 B aligned or not) storage.
template <typename T>
std::vector<T> shifted(const std::vector<T>& data, uint32_t shift) {
    std::vector<T> result(shift);
    result.insert(result.end(), data.begin(), data.end());
    return result;
}

// Where the kernel is to find it. Without a shift it is the caller's own, which a replay finds again.
template <typename T>
const T* placed(const std::vector<T>& data, const std::vector<T>& copy, uint32_t shift) {
    return shift == 0 ? data.data() : copy.data() + shift;
}

op_host::CommonAttributes attributes_of(const CommunicatorLimits& limits, uint32_t rank, const Batch& batch,
                                        const Features& features) {
    op_host::CommonAttributes result = attributes(limits, rank, batch);
    if (features.num_experts != 0) result.moe_expert_num = features.num_experts;
    result.shared_expert_num = features.shared_expert_num;
    result.shared_expert_rank_num = features.shared_expert_rank_num;
    return result;
}

// What both calls have alike.
template <typename Call, typename Addresses>
void add_features(const Batch& batch, const Features& features, Call* call, Addresses* addresses,
                  std::vector<twin::GmRange>* ranges) {
    if (features.mask_kind != MaskKind::kNone) {
        std::vector<int64_t> shape = {batch.num_tokens};
        if (features.mask_kind == MaskKind::kPairs) shape.push_back(batch.num_topk);
        call->x_active_mask = tensor(Dtype::kBool, shape);
        addresses->x_active_mask = address(features.mask.data());
        ranges->push_back(range(features.mask));
    }
    if (features.performance_info != nullptr) {
        const auto size = static_cast<int64_t>(features.performance_info->size());
        call->performance_info = tensor(Dtype::kInt64, {size});
        addresses->performance_info = address(features.performance_info->data());
        ranges->push_back(range(*features.performance_info));
    }
}

}  // namespace

RankMachine::RankMachine(const WorldOptions& options, uint32_t rank, const std::vector<int>& window_files)
    : options_(options),
      rank_(rank),
      memory_(twin::UrmaEngine::memory_bytes(options.limits.num_ranks, options.queue_depth, options.queue_depth) +
              workspace_layout(options.limits).total_bytes + 2 * kPageBytes + options.limits.num_ranks * 8),
      kernels_(&kernel_table(options.policy)) {
    const WindowLayout layout = window_layout(options.limits);
    auto windows = std::make_unique<twin::WindowTable>(options.limits.num_ranks, layout.total_bytes);
    for (uint32_t peer = 0; peer < options.limits.num_ranks; ++peer)
        windows->map(peer, window_files[peer]);
    twin::FabricConfig config{};
    config.rank = rank;
    config.layout = layout;
    config.queue_depth = options.queue_depth;
    config.is_stepped = options.policy == "sim";
    config.nonces.assign(options.limits.num_ranks, kNonce);
    config.pids.assign(options.limits.num_ranks, static_cast<int32_t>(::getpid()));
    fabric_ = std::make_unique<twin::Fabric>(config, std::move(windows), memory_);
    fabric_->control_page().state.tag_base = options.tag_base;
    auto* table = reinterpret_cast<uint64_t*>(memory_.take(options.limits.num_ranks * sizeof(uint64_t), 64));
    for (uint32_t peer = 0; peer < options.limits.num_ranks; ++peer) {
        table[peer] = address(fabric_->windows().window(peer));
        window_table_.push_back(table[peer]);
    }
    window_table_.push_back(address(table));
    workspace_ = memory_.take(workspace_layout(options.limits).total_bytes, kPageBytes);
}

op_host::Machine RankMachine::machine() const {
    return op_host::Machine{window_table_.back(), fabric_->engine().queue_table(), address(workspace_), rank_,
                            options_.num_cores,   options_.timeout_ms * 1000000};
}

void RankMachine::launch(OperationKind kind, const void* tiling, size_t bytes, std::vector<twin::GmRange> ranges) {
    kind_ = kind;
    argument_block_.assign(bytes / sizeof(uint64_t), 0);
    std::memcpy(argument_block_.data(), tiling, bytes);
    call_ranges_ = std::move(ranges);
    replay();
}

OperationOutcome RankMachine::replay() {
    twin::LaunchConfig config;
    config.num_cores = options_.num_cores;
    config.kernel_name = kind_ == OperationKind::kDispatch ? "dispatch_v2" : "combine_v2";
    std::vector<twin::GmRange> ranges = call_ranges_;
    ranges.push_back(range(argument_block_));
    fabric_->begin(kind_, std::move(ranges));
    auto* entry = kind_ == OperationKind::kDispatch ? kernels_->dispatch_v2 : kernels_->combine_v2;
    twin::launch(config, entry, reinterpret_cast<uint8_t*>(argument_block_.data()), *fabric_);
    fabric_->end();
    return fabric_->control_page().outcome;
}

FeatureResult RankMachine::dispatch(const Batch& batch, const Features& features) {
    op_host::DispatchCall call;
    op_host::DispatchAddresses addresses{};
    std::vector<twin::GmRange> ranges;
    add_features(batch, features, &call, &addresses, &ranges);
    if (features.has_weights) call.expert_scales = tensor(Dtype::kFp32, {batch.num_tokens, batch.num_topk});
    call.x = tensor(batch.dtype, {batch.num_tokens, batch.hidden});
    call.expert_ids = tensor(Dtype::kInt32, {batch.num_tokens, batch.num_topk});
    call.attributes = attributes_of(options_.limits, rank_, batch, features);
    call.attributes.comm_alg = features.comm_alg;
    op_host::DispatchShapes shapes;
    const op_host::Status status = op_host::check_dispatch(options_.limits, rank_, unmasked(call), &shapes);
    if (!status.ok()) throw std::runtime_error(status.message);
    FeatureResult result;
    result.capacity_rows = static_cast<uint32_t>(shapes.capacity_rows);
    result.expand_x.assign(static_cast<size_t>(shapes.capacity_rows * shapes.hidden), 0x7F7F);
    result.assist_info.assign(static_cast<size_t>(shapes.assist_info), 0x7F7F7F7F);
    result.ep_recv_counts.assign(static_cast<size_t>(shapes.ep_recv_counts), -7);
    result.expert_token_nums.assign(static_cast<size_t>(shapes.expert_token_nums), -7);
    if (features.has_weights) result.expand_scales.assign(static_cast<size_t>(shapes.expand_scales), -7.0F);
    const auto x = shifted(batch.x, batch.shift);
    const auto ids = shifted(batch.expert_ids, batch.shift);
    addresses.x = address(placed(batch.x, x, batch.shift));
    addresses.expert_ids = address(placed(batch.expert_ids, ids, batch.shift));
    addresses.expert_scales = address(batch.scales.data());
    addresses.expand_x = address(result.expand_x.data());
    addresses.expand_scales = address(result.expand_scales.data());
    addresses.assist_info = address(result.assist_info.data());
    addresses.ep_recv_counts = address(result.ep_recv_counts.data());
    addresses.expert_token_nums = address(result.expert_token_nums.data());
    for (const twin::GmRange& own : {range(x), range(ids), range(batch.x), range(batch.expert_ids), range(batch.scales),
                                     range(result.expand_x), range(result.expand_scales), range(result.assist_info),
                                     range(result.ep_recv_counts), range(result.expert_token_nums)})
        ranges.push_back(own);
    DispatchTiling tiling;
    op_host::make_dispatch_tiling(options_.limits, machine(), call, addresses, &tiling);
    launch(OperationKind::kDispatch, &tiling, sizeof(tiling), std::move(ranges));
    result.outcome = fabric_->control_page().outcome;
    result.record = fabric_->control_page().record;
    return result;
}

CombineResult RankMachine::combine(const Batch& batch, const DispatchResult& dispatched,
                                   const std::vector<uint16_t>& expert_out, const Features& features) {
    op_host::CombineCall call;
    op_host::CombineAddresses addresses{};
    std::vector<twin::GmRange> ranges;
    add_features(batch, features, &call, &addresses, &ranges);
    if (!features.shared_expert_x.empty()) call.shared_expert_x = tensor(batch.dtype, {batch.num_tokens, batch.hidden});
    call.expand_x = tensor(batch.dtype, {dispatched.capacity_rows, batch.hidden});
    call.expert_ids = tensor(Dtype::kInt32, {batch.num_tokens, batch.num_topk});
    call.assist_info_for_combine = tensor(Dtype::kInt32, {static_cast<int64_t>(dispatched.assist_info.size())});
    call.ep_send_counts = tensor(Dtype::kInt32, {static_cast<int64_t>(dispatched.ep_recv_counts.size())});
    if (!batch.scales.empty())
        call.expert_scales = tensor(Dtype::kFp32, {batch.num_tokens, batch.num_topk});
    else
        call.expert_scales = tensor(Dtype::kFp32, {0});
    call.attributes = attributes_of(options_.limits, rank_, batch, features);
    const op_host::Status status = op_host::check_combine(options_.limits, rank_, unmasked(call));
    if (!status.ok()) throw std::runtime_error(status.message);
    CombineResult result;
    result.x.assign(size_t{batch.num_tokens} * batch.hidden, 0x7F7F);
    const auto out = shifted(expert_out, batch.shift);
    const auto ids = shifted(batch.expert_ids, batch.shift);
    const auto assist = shifted(dispatched.assist_info, batch.shift);
    const auto counts = shifted(dispatched.ep_recv_counts, batch.shift);
    const auto scales = shifted(batch.scales, batch.shift);
    addresses.expand_x = address(placed(expert_out, out, batch.shift));
    addresses.expert_ids = address(placed(batch.expert_ids, ids, batch.shift));
    addresses.assist_info = address(placed(dispatched.assist_info, assist, batch.shift));
    addresses.ep_send_counts = address(placed(dispatched.ep_recv_counts, counts, batch.shift));
    addresses.expert_scales = batch.scales.empty() ? 0 : address(placed(batch.scales, scales, batch.shift));
    addresses.shared_expert_x = address(features.shared_expert_x.data());
    addresses.x_out = address(result.x.data());
    for (const twin::GmRange& own :
         {range(out), range(ids), range(assist), range(counts), range(scales), range(expert_out),
          range(batch.expert_ids), range(dispatched.assist_info), range(dispatched.ep_recv_counts), range(batch.scales),
          range(features.shared_expert_x), range(result.x)})
        ranges.push_back(own);
    CombineTiling tiling;
    op_host::make_combine_tiling(options_.limits, machine(), options_.engine, call, addresses, &tiling);
    launch(OperationKind::kCombine, &tiling, sizeof(tiling), std::move(ranges));
    result.outcome = fabric_->control_page().outcome;
    result.record = fabric_->control_page().record;
    return result;
}

OperationOutcome RankMachine::dispatch(const op_host::DispatchCall& call, const op_host::DispatchAddresses& addresses,
                                       std::vector<twin::GmRange> ranges) {
    const op_host::Status status = op_host::check_dispatch(options_.limits, rank_, unmasked(call), nullptr);
    if (!status.ok()) throw std::runtime_error(status.message);
    DispatchTiling tiling;
    op_host::make_dispatch_tiling(options_.limits, machine(), call, addresses, &tiling);
    launch(OperationKind::kDispatch, &tiling, sizeof(tiling), std::move(ranges));
    return fabric_->control_page().outcome;
}

OperationOutcome RankMachine::combine(const op_host::CombineCall& call, const op_host::CombineAddresses& addresses,
                                      std::vector<twin::GmRange> ranges) {
    const op_host::Status status = op_host::check_combine(options_.limits, rank_, unmasked(call));
    if (!status.ok()) throw std::runtime_error(status.message);
    CombineTiling tiling;
    op_host::make_combine_tiling(options_.limits, machine(), options_.engine, call, addresses, &tiling);
    launch(OperationKind::kCombine, &tiling, sizeof(tiling), std::move(ranges));
    return fabric_->control_page().outcome;
}

OperationOutcome RankMachine::refuse(OperationKind kind, const Refusal& refusal) {
    if (kind == OperationKind::kDispatch) {
        DispatchTiling tiling;
        op_host::make_refusal_tiling(options_.limits, machine(), refusal, &tiling);
        launch(kind, &tiling, sizeof(tiling), {});
    } else {
        CombineTiling tiling;
        op_host::make_refusal_tiling(options_.limits, machine(), options_.engine, refusal, &tiling);
        launch(kind, &tiling, sizeof(tiling), {});
    }
    return fabric_->control_page().outcome;
}

void run_world(const WorldOptions& options, const std::function<void(RankMachine&)>& body) {
    std::vector<twin::FileDescriptor> files;
    std::vector<int> numbers;
    for (uint32_t rank = 0; rank < options.limits.num_ranks; ++rank) {
        files.push_back(twin::create_window_file(window_layout(options.limits).total_bytes));
        numbers.push_back(files.back().get());
    }
    std::vector<std::unique_ptr<RankMachine>> ranks;
    for (uint32_t rank = 0; rank < options.limits.num_ranks; ++rank) {
        ranks.push_back(std::make_unique<RankMachine>(options, rank, numbers));
    }
    std::vector<std::string> errors(options.limits.num_ranks);
    std::vector<std::thread> threads;
    for (uint32_t rank = 0; rank < options.limits.num_ranks; ++rank) {
        threads.emplace_back([&, rank] {
            try {
                body(*ranks[rank]);
            } catch (const std::exception& error) {
                errors[rank] = error.what();
                if (errors[rank].empty()) errors[rank] = "unknown";
            }
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    for (uint32_t rank = 0; rank < options.limits.num_ranks; ++rank)
        CHECK_EQ(errors[rank], std::string());
}

}  // namespace ascend_deepep::test
