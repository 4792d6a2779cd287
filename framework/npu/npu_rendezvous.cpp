// SPDX-License-Identifier: Apache-2.0
//
// Making a communicator of devices: one exchange to agree, the endpoint and the window, one to know that all have them.
// Layer: framework, devices.
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "framework/npu/npu_communicator.h"
#include "framework/runtime/rendezvous.h"
#include "op_host/sizes.h"

namespace ascend_deepep::npu {
namespace {

constexpr uint64_t kWindowsByDefault = 2;  // of the first one's size, in a heap that nobody sized

static_assert(sizeof(ShmemUniqueId) == sizeof(DeviceHandshake::unique_id), "the handshake carries one");

// What a rank holds between the exchanges.
struct Draft {
    CommunicatorOptions options;
    const Acl* acl = nullptr;
    const Shmem* shmem = nullptr;
    int32_t device = -1;
    std::unique_ptr<NameReservation> name;
    std::shared_ptr<Endpoint> endpoint;
    bool has_started_endpoint = false;
    std::shared_ptr<LaunchQueue> queue;
    Handshake handshake{};
};

uint32_t vector_cores(const Acl& acl, int32_t device) {
    int64_t cores = 0;
    require_acl(acl, acl.get_device_info(static_cast<uint32_t>(device), kVectorCores, &cores), "aclrtGetDeviceInfo");
    return static_cast<uint32_t>(std::clamp<int64_t>(cores, 0, kMaxCores));
}

void complete_npu_options(const Acl& acl, int32_t device, CommunicatorOptions* options) {
    const uint32_t cores = vector_cores(acl, device);
    complete_options(options, cores);
    // Cores poll each other, so all of them must run at once.
    refuse_unless(options->num_cores <= cores, options->rank, Code::kOutOfRange, options->num_cores, cores,
                  "num_cores is " + std::to_string(options->num_cores) + " and device " + std::to_string(device) +
                      " has " + std::to_string(cores) + " AIV cores: pass at most that many, or 0 for all");
    refuse_unless(options->queue_depth == 0, options->rank, Code::kOutOfRange, options->queue_depth, 0,
                  "queue_depth is " + std::to_string(options->queue_depth) +
                      ": on a device the driver sizes the queues, leave it 0");
    refuse_unless(options->queues_per_peer == 1, options->rank, Code::kOutOfRange, options->queues_per_peer, 1,
                  "queues_per_peer is " + std::to_string(options->queues_per_peer) +
                      ": on a device aclshmem makes one queue to each peer, pass 1 or leave it out");
    refuse_unless(options->policy.empty(), options->rank, Code::kOutOfRange, 0, 0,
                  "policy is '" + options->policy + "': policies are of the twin, leave it empty on a device");
    if (options->heap_bytes == 0) options->heap_bytes = kWindowsByDefault * options->window_bytes;
    options->heap_bytes = align_up(options->heap_bytes, kPageBytes);
}

void describe_endpoint(Draft* draft) {
    const CommunicatorOptions& options = draft->options;
    DeviceHandshake& device = draft->handshake.device;
    device.heap_bytes = options.heap_bytes;
    const pid_t parent = Endpoint::inherited_from();
    refuse_unless(parent == 0, options.rank, Code::kNotEqual, ::getpid(), parent,
                  "this process was forked from process " + std::to_string(parent) +
                      " after that one made a communicator: a device cannot be used on both sides of a fork, start "
                      "processes with spawn, or fork before the first communicator");
    draft->endpoint = Endpoint::current();
    if (draft->endpoint == nullptr) {
        refuse_unless(options.heap_bytes >= options.window_bytes && options.heap_bytes < kShmemMaxHeap, options.rank,
                      Code::kOutOfRange, static_cast<int64_t>(options.heap_bytes), static_cast<int64_t>(kShmemMaxHeap),
                      "heap_bytes is " + std::to_string(options.heap_bytes) + ": the window alone takes " +
                          std::to_string(options.window_bytes) + " bytes, and aclshmem gives a rank less than " +
                          std::to_string(kShmemMaxHeap));
        if (options.rank != 0) return;
        ShmemUniqueId id{};
        require_shmem(draft->shmem->get_unique_id(&id), "aclshmemx_get_uniqueid");
        std::memcpy(device.unique_id, &id, sizeof(id));
        return;
    }
    const EndpointConfig& config = draft->endpoint->config();
    refuse_unless(draft->device == config.device, options.rank, Code::kNotEqual, draft->device, config.device,
                  "the current device is " + std::to_string(draft->device) +
                      " and the endpoint of this process is on device " + std::to_string(config.device) +
                      ": select that one, or make this communicator in a process of its own");
    const HeapRanges ranges = draft->endpoint->ranges();
    device.endpoint_id = config.id;
    device.endpoint_rank = config.rank;
    device.endpoint_ranks = config.num_ranks;
    device.heap_bytes = config.heap_bytes;
    device.first_free = ranges.first_free(options.window_bytes);
    device.top_free = ranges.top();
}

// All that one rank can do alone.
void prepare(const NpuEnvironment& environment, Draft* draft) {
    draft->acl = &environment.acl();
    draft->shmem = &environment.shmem();
    require_acl(*draft->acl, draft->acl->get_device(&draft->device), "aclrtGetDevice (no device is set: select one)");
    complete_npu_options(*draft->acl, draft->device, &draft->options);
    draft->name = std::make_unique<NameReservation>(draft->options.name, draft->options.rank);
    draft->handshake.nonce = random_number();
    describe_endpoint(draft);
}

// A rank's endpoint is over this group: same ranks, same order, and every one of them has it.
bool is_over_group(const std::vector<Handshake>& all, uint32_t rank) {
    const DeviceHandshake& device = all[rank].device;
    if (device.endpoint_rank != rank || device.endpoint_ranks != all.size()) return false;
    return std::all_of(all.begin(), all.end(),
                       [&](const Handshake& peer) { return peer.device.endpoint_id == device.endpoint_id; });
}

// All ranks see the same and throw the same.
void check_endpoints(const std::vector<Handshake>& all, uint32_t own) {
    const auto throw_status = [&](op_host::Status status) {
        status.record.rank = own;
        throw CommunicatorError{status};
    };
    for (uint32_t rank = 0; rank < all.size(); ++rank) {
        const DeviceHandshake& device = all[rank].device;
        const std::string who = "rank " + std::to_string(rank);
        if (device.endpoint_id != 0 && !is_over_group(all, rank)) {
            throw_status(own_refusal(
                rank, Code::kNotEqual, Field::kGroupEp, device.endpoint_ranks, static_cast<int64_t>(all.size()),
                who + " has an endpoint of " + std::to_string(device.endpoint_ranks) + " ranks, in which it is rank " +
                    std::to_string(device.endpoint_rank) + ", and this group of " + std::to_string(all.size()) +
                    " is not those ranks in that order: all communicators of a process on a device are over the same "
                    "ranks; make this one in other processes"));
        }
        if (device.heap_bytes != all[0].device.heap_bytes) {
            throw_status(own_refusal(rank, Code::kNotEqual, Field::kNone, static_cast<int64_t>(device.heap_bytes),
                                     static_cast<int64_t>(all[0].device.heap_bytes),
                                     "heap_bytes is " + std::to_string(all[0].device.heap_bytes) + " on rank 0 and " +
                                         std::to_string(device.heap_bytes) + " on " + who +
                                         ": pass the same value on all ranks"));
        }
    }
}

// The offset of the window, free on every rank: where the lowest gap is the same on all, else behind all windows.
uint64_t agree_on_offset(const std::vector<Handshake>& all, const CommunicatorOptions& options) {
    uint64_t top = 0;
    bool is_equal = true;
    for (const Handshake& peer : all) {
        top = std::max(top, peer.device.top_free);
        is_equal = is_equal && peer.device.first_free == all[0].device.first_free;
    }
    const uint64_t heap = all[0].device.heap_bytes;
    const uint64_t offset = is_equal ? all[0].device.first_free : top;
    refuse_unless(offset <= heap && options.window_bytes <= heap - offset, options.rank, Code::kOutOfRange,
                  static_cast<int64_t>(options.window_bytes), static_cast<int64_t>(heap - std::min(offset, heap)),
                  "a window of " + std::to_string(options.window_bytes) + " bytes does not fit the heap of " +
                      std::to_string(heap) + " bytes at offset " + std::to_string(offset) +
                      ": close communicators that are not used on all ranks, or pass a larger heap_bytes to the first "
                      "communicator of the process");
    return offset;
}

void start_endpoint(const std::vector<Handshake>& all, Draft* draft) {
    EndpointConfig config{};
    config.id = tag_base(all, 0);
    config.rank = draft->options.rank;
    config.num_ranks = draft->options.limits.num_ranks;
    config.heap_bytes = all[0].device.heap_bytes;
    config.timeout_ms = draft->options.timeout_ms;
    config.device = draft->device;
    std::memcpy(&config.unique_id, all[0].device.unique_id, sizeof(config.unique_id));
    draft->endpoint = Endpoint::start(*draft->acl, *draft->shmem, config);
    draft->has_started_endpoint = true;
}

void connect(const NpuEnvironment& environment, const std::vector<Handshake>& all, Draft* draft) {
    CommunicatorOptions& options = draft->options;
    const Acl& acl = *draft->acl;
    if (draft->endpoint == nullptr) start_endpoint(all, draft);
    const uint64_t offset = agree_on_offset(all, options);
    LaunchConfig config{};
    config.rank = options.rank;
    config.num_cores = options.num_cores;
    config.timeout_ms = options.timeout_ms;
    config.device = draft->device;
    config.window_offset = offset;
    config.window_bytes = options.window_bytes;
    config.kernels = environment.kernels;
    Allocation workspace(acl, Place::kDevice, align_up(op_host::workspace_bytes(options.limits), kBlockBytes));
    draft->queue = std::make_shared<LaunchQueue>(acl, draft->endpoint, config, std::move(workspace));
    options.queue_depth = draft->endpoint->queue_depth();

    // Control page, control ring and abort cells, which may hold what an earlier window left. No peer writes before the
    // second exchange.
    uint8_t* window = draft->endpoint->heap() + offset;
    const WindowLayout layout = window_layout(options.limits);
    zero_device(acl, window, layout.regions[static_cast<uint32_t>(WindowRegion::kSendBuffer)].offset);
    const uint64_t base = tag_base(all, options.first_tag_low);
    copy_to_device(acl, window + offsetof(ControlPage, state.tag_base), &base, sizeof(base));
}

// The second exchange. A rank that cannot go on makes all give up, an endpoint that was new to them included.
void confirm(Draft* draft, const AllGather& all_gather) {
    try {
        exchange_handshakes(draft->handshake, draft->options, all_gather);
    } catch (const CommunicatorError&) {
        draft->queue.reset();
        if (draft->has_started_endpoint) draft->endpoint->abandon();
        throw;
    }
}

std::shared_ptr<Communicator> create_npu(const NpuEnvironment& environment, const CommunicatorOptions& options,
                                         const AllGather& all_gather) {
    Draft draft;
    draft.options = options;
    Handshake& handshake = draft.handshake;
    attempt(&handshake, options.rank, [&] { prepare(environment, &draft); });
    attempt(&handshake, options.rank, [&] { fill_handshake(draft.options, draft.name != nullptr, &handshake); });
    const std::vector<Handshake> all = exchange_handshakes(handshake, draft.options, all_gather);
    check_endpoints(all, options.rank);
    std::shared_ptr<NpuCommunicator> communicator;
    NameReservation* name = draft.name.get();
    attempt(&handshake, options.rank, [&] {
        connect(environment, all, &draft);
        communicator = std::make_shared<NpuCommunicator>(draft.options, std::move(draft.name), *draft.acl,
                                                         environment.stream, draft.queue);
    });
    confirm(&draft, all_gather);
    name->publish(communicator);
    return communicator;
}

}  // namespace

void register_npu_target(const NpuEnvironment& environment) {
    register_target(op_host::kNpuTarget,
                    [environment](const CommunicatorOptions& options, const AllGather& all_gather) {
                        return create_npu(environment, options, all_gather);
                    });
}

}  // namespace ascend_deepep::npu
