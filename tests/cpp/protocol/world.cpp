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
    if (data.empty()) return {};
    std::vector<T> result(shift);
    result.insert(result.end(), data.begin(), data.end());
    return result;
}

Batch shifted(const Batch& batch) {
    Batch result = batch;
    result.expert_ids = shifted(batch.expert_ids, batch.shift);
    result.x = shifted(batch.x, batch.shift);
    result.x_bytes = shifted(batch.x_bytes, batch.shift);
    result.scales = shifted(batch.scales, batch.shift);
    result.mask = shifted(batch.mask, batch.shift);
    result.weights = shifted(batch.weights, batch.shift);
    result.factors = shifted(batch.factors, batch.shift);
    result.travelling = shifted(batch.travelling, batch.shift);
    result.shared_x = shifted(batch.shared_x, batch.shift);
    return result;
}

}  // namespace

RankMachine::RankMachine(const WorldOptions& options, uint32_t rank, const std::vector<int>& window_files)
    : options_(options),
      rank_(rank),
      memory_(twin::UrmaEngine::memory_bytes(options.limits.num_ranks, options.queue_depth, options.queue_depth,
                                             options.queues_per_peer) +
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
    config.queues_per_peer = options.queues_per_peer;
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
    op_host::Machine machine{window_table_.back(), fabric_->engine().queue_table(), address(workspace_), rank_,
                             options_.num_cores,   options_.timeout_ms * 1000000};
    machine.queues_per_peer = options_.queues_per_peer;
    return machine;
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

DispatchResult RankMachine::dispatch(const Batch& batch) {
    const op_host::DispatchCall call = dispatch_call(options_.limits, rank_, batch);
    const op_host::DispatchShapes shapes = op_host::dispatch_shapes(call);
    DispatchResult result = new_dispatch_result(call, shapes, batch, static_cast<uint64_t>(shapes.assist_info));
    // Without a shift the kernel gets the caller's own tensors, which a replay finds again.
    const Batch copy = batch.shift == 0 ? Batch{} : shifted(batch);
    std::vector<twin::GmRange> ranges;
    const op_host::DispatchAddresses addresses =
        dispatch_addresses(batch.shift == 0 ? batch : copy, batch.shift, &result, &ranges);
    result.outcome = dispatch(call, addresses, std::move(ranges));
    result.record = fabric_->control_page().record;
    return result;
}

CombineResult RankMachine::combine(const Batch& batch, const DispatchResult& dispatched,
                                   const std::vector<uint16_t>& expert_out) {
    const op_host::CombineCall call = combine_call(options_.limits, rank_, batch, dispatched);
    CombineResult result = new_combine_result(batch);
    const bool is_shifted = batch.shift != 0;
    const Batch copy = is_shifted ? shifted(batch) : Batch{};
    DispatchResult copied;
    copied.assist_info = shifted(dispatched.assist_info, batch.shift);
    copied.ep_recv_counts = shifted(dispatched.ep_recv_counts, batch.shift);
    copied.expand_scales = shifted(dispatched.expand_scales, batch.shift);
    const std::vector<uint16_t> out = shifted(expert_out, batch.shift);
    std::vector<twin::GmRange> ranges;
    const op_host::CombineAddresses addresses =
        is_shifted ? combine_addresses(copy, copied, out, batch.shift, &result, &ranges)
                   : combine_addresses(batch, dispatched, expert_out, 0, &result, &ranges);
    result.outcome = combine(call, addresses, std::move(ranges));
    result.record = fabric_->control_page().record;
    return result;
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
