// SPDX-License-Identifier: Apache-2.0
//
// Making a communicator of the twin: two collective exchanges, and between them windows change hands. Layer: framework.
#include <algorithm>
#include <bit>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "framework/runtime/kernel_library.h"
#include "framework/runtime/memory_need.h"
#include "framework/runtime/rendezvous.h"
#include "framework/runtime/twin_communicator.h"
#include "op_host/check.h"
#include "op_host/sizes.h"
#include "twin/fabric/fd_exchange.h"
#include "twin/fabric/host.h"

namespace ascend_deepep {
namespace {

constexpr uint32_t kMinDefaultDepth = 64;
constexpr uint32_t kMaxDefaultDepth = 1024;

// What a rank holds between the exchanges.
struct Draft {
    CommunicatorOptions options;
    std::unique_ptr<NameReservation> name;
    std::unique_ptr<twin::FdExchange> exchange;
    twin::FileDescriptor window_file;
    std::shared_ptr<TwinResources> resources = std::make_shared<TwinResources>();
    Handshake handshake{};
};

std::string chosen_policy(const CommunicatorOptions& options) {
    const char* variable = std::getenv("ASCEND_DEEPEP_TWIN_POLICY");
    std::string policy = options.policy;
    if (policy.empty() && variable != nullptr) policy = variable;
    return policy.empty() ? "fast" : policy;
}

// The defaults of the twin, and what is illegal on it.
void complete_twin_options(CommunicatorOptions* options) {
    complete_options(options, default_cores());
    const uint32_t rank = options->rank;
    if (options->queue_depth == 0) options->queue_depth = default_queue_depth(options->limits.max_tokens);
    const op_host::Status depth = op_host::check_queue_depth(options->queue_depth);
    refuse_unless(depth.ok(), rank, depth.refusal.code, depth.refusal.got, depth.refusal.limit, depth.message);
    options->policy = chosen_policy(*options);
    refuse_unless(options->policy == "fast" || options->policy == "sim", rank, Code::kOutOfRange, 0, 0,
                  "the policy of the twin is '" + options->policy + "': it is 'fast' or 'sim'");
}

void check_memory(const CommunicatorOptions& options) {
    const uint64_t need =
        options.limits.num_ranks *
        touched_bytes_per_rank(options.limits, options.combine_engine, options.queue_depth * options.queues_per_peer);
    const twin::FreeMemory free = twin::free_memory();
    refuse_unless(need <= free.bytes, options.rank, Code::kOutOfRange, static_cast<int64_t>(need),
                  static_cast<int64_t>(free.bytes),
                  "the windows and workspaces of " + std::to_string(options.limits.num_ranks) +
                      " ranks on this host come to " + std::to_string(need) +
                      " bytes in calls of the largest size, and " + std::to_string(free.bytes) + " bytes are free (" +
                      free.source + "): lower max_tokens, hidden or num_topk, or free memory");
}

// All that one rank can do alone.
void prepare(Draft* draft) {
    CommunicatorOptions& options = draft->options;
    complete_twin_options(&options);
    draft->name = std::make_unique<NameReservation>(options.name, options.rank);
    check_memory(options);
    draft->resources->kernels = &kernel_table(options.policy);
    draft->handshake.nonce = random_number();
    draft->window_file = twin::create_window_file(options.window_bytes);
    draft->exchange = std::make_unique<twin::FdExchange>(draft->handshake.nonce);
}

std::unique_ptr<twin::WindowTable> map_windows(Draft* draft, const std::vector<Handshake>& all) {
    const CommunicatorOptions& options = draft->options;
    std::vector<twin::ExchangePeer> peers;
    for (const Handshake& peer : all)
        peers.push_back({peer.socket_name, peer.pid});
    const std::vector<twin::FileDescriptor> files =
        draft->exchange->run(options.rank, draft->window_file.get(), peers, tag_base(all, 0), options.timeout_ms);
    auto windows = std::make_unique<twin::WindowTable>(options.limits.num_ranks, options.window_bytes);
    for (uint32_t rank = 0; rank < files.size(); ++rank) {
        const int fd = rank == options.rank ? draft->window_file.get() : files[rank].get();
        twin::check_window_file(fd, options.window_bytes, rank);
        windows->map(rank, fd);
    }
    return windows;
}

// ASCEND_DEEPEP_TWIN_FAULT=name:rank:n arms a fault from the start, at the n-th event of its kind on that rank.
void arm_fault_of_environment(const CommunicatorOptions& options, twin::FaultInjector* fault) {
    const char* variable = std::getenv("ASCEND_DEEPEP_TWIN_FAULT");
    if (variable == nullptr || *variable == '\0') return;
    char name[32];
    uint32_t rank;
    uint64_t event;
    const bool is_read = std::sscanf(variable, "%31[a-z-]:%" SCNu32 ":%" SCNu64, name, &rank, &event) == 3;
    const twin::FaultKind kind = is_read ? twin::fault_from_name(name) : twin::FaultKind::kNone;
    refuse_unless(
        kind != twin::FaultKind::kNone, options.rank, Code::kOutOfRange, 0, 0,
        std::string("ASCEND_DEEPEP_TWIN_FAULT is '") + variable + "': name:rank:n is needed, such as drop-wqe:0:3");
    if (rank == options.rank) fault->arm(kind, event, event);
}

// Maps all windows and builds what kernels read.
void connect(Draft* draft, const std::vector<Handshake>& all) {
    const CommunicatorOptions& options = draft->options;
    TwinResources& resources = *draft->resources;
    const uint32_t num_ranks = options.limits.num_ranks;
    std::unique_ptr<twin::WindowTable> windows = map_windows(draft, all);

    const uint64_t table_bytes = align_up(num_ranks * sizeof(uint64_t), kBlockBytes);
    const uint64_t tiling_bytes = align_up(std::max(sizeof(DispatchTiling), sizeof(CombineTiling)), kBlockBytes);
    const uint64_t workspace_bytes = align_up(op_host::workspace_bytes(options.limits), kBlockBytes);
    const uint64_t engine_bytes =
        twin::UrmaEngine::memory_bytes(num_ranks, options.queue_depth, options.queue_depth, options.queues_per_peer);
    resources.memory = std::make_unique<twin::Memory>(
        align_up(table_bytes + tiling_bytes + workspace_bytes + engine_bytes, kPageBytes));
    resources.window_table = reinterpret_cast<uint64_t*>(resources.memory->take(table_bytes, kBlockBytes));
    resources.tiling = resources.memory->take(tiling_bytes, kBlockBytes);
    resources.workspace = resources.memory->take(workspace_bytes, kBlockBytes);
    for (uint32_t rank = 0; rank < num_ranks; ++rank) {
        resources.window_table[rank] = reinterpret_cast<uint64_t>(windows->window(rank));
    }

    twin::FabricConfig config{};
    config.rank = options.rank;
    config.layout = window_layout(options.limits);
    config.queue_depth = options.queue_depth;
    config.queues_per_peer = options.queues_per_peer;
    config.is_stepped = options.policy == "sim";
    config.interrupted = &interrupt_pending;
    for (const Handshake& peer : all) {
        config.nonces.push_back(peer.nonce);
        config.pids.push_back(peer.pid);
    }
    resources.fabric = std::make_unique<twin::Fabric>(config, std::move(windows), *resources.memory);
    resources.fabric->control_page().state.tag_base = tag_base(all, options.first_tag_low);
    arm_fault_of_environment(options, &resources.fabric->fault());
}

}  // namespace

uint32_t default_queue_depth(uint32_t max_tokens) {
    return std::clamp(std::bit_ceil(std::min(max_tokens, kMaxDefaultDepth)), kMinDefaultDepth, kMaxDefaultDepth);
}

uint32_t default_cores() {
    return 8;
}

std::shared_ptr<Communicator> create_twin(const CommunicatorOptions& options, const AllGather& all_gather) {
    Draft draft;
    draft.options = options;
    Handshake& handshake = draft.handshake;
    attempt(&handshake, options.rank, [&] { prepare(&draft); });
    attempt(&handshake, options.rank, [&] {
        const bool is_complete = draft.exchange != nullptr;
        fill_handshake(draft.options, is_complete, &handshake);
        if (is_complete) set_text(handshake.socket_name, draft.exchange->socket_name());
    });
    const std::vector<Handshake> all = exchange_handshakes(handshake, draft.options, all_gather);
    attempt(&handshake, options.rank, [&] { connect(&draft, all); });
    exchange_handshakes(handshake, draft.options, all_gather);  // every rank has every window, or none goes on

    NameReservation* name = draft.name.get();
    auto communicator =
        std::make_shared<TwinCommunicator>(draft.options, std::move(draft.name), std::move(draft.resources));
    name->publish(communicator);
    return communicator;
}

}  // namespace ascend_deepep
