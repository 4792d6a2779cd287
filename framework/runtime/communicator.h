// SPDX-License-Identifier: Apache-2.0
//
// Communicators of this process and the registry that names them: what the torch operators and the Python package call.
// Layer: framework. Nothing here sorts, counts, places or sums rows: it checks (op_host), tiles (op_host), launches.
#ifndef ASCEND_DEEPEP_FRAMEWORK_RUNTIME_COMMUNICATOR_H
#define ASCEND_DEEPEP_FRAMEWORK_RUNTIME_COMMUNICATOR_H

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "contract/tiling_data.h"
#include "framework/runtime/trace.h"
#include "op_host/calls.h"
#include "op_host/status.h"
#include "op_host/tiling.h"

namespace ascend_deepep {

struct CommunicatorOptions {
    std::string name;
    std::string target;  // a registered one; empty: the twin
    uint32_t rank = 0;
    CommunicatorLimits limits{};
    uint32_t num_cores = 0;       // 0: default_cores() on the twin, all AIV cores of a device
    uint32_t timeout_ms = 30000;  // 0: this
    uint64_t window_bytes = 0;    // 0: what the limits need
    uint64_t heap_bytes = 0;   // devices: memory of all windows of the process, set by the first; 0: twice its window
    uint32_t queue_depth = 0;  // 0: the default; a power of two from 4. Devices: what the driver made
    uint32_t queues_per_peer = 0;  // 0: one; up to kMaxQueuesPerPeer on the twin. Ranks may differ
    std::string roles;             // cores of dispatch's roles (op_host/roles.h); empty: by the model. Ranks may differ
    op_host::RoleCounts role_counts{};  // what `roles` says: read at creation
    CombineEngine combine_engine = CombineEngine::kMte;
    std::string policy;          // "fast" or "sim"; empty: ASCEND_DEEPEP_TWIN_POLICY, else fast
    uint32_t first_tag_low = 0;  // tests only: low word of the first tag, to see it carry. Equal on all ranks
};

// Collective exchange over the caller's process group: every rank's bytes, in rank order.
using AllGather = std::function<std::vector<std::string>(const std::string&)>;

// Counters of one operation or of all since creation, as the engine and the block writer counted them. A device counts
// its operations only.
struct Counters {
    uint64_t copies = 0;  // token copies the URMA engine or the block writer carried to other ranks (dispatch)
    uint64_t rows = 0;    // combine rows carried to other ranks
    uint64_t bytes_put_dispatch = 0, bytes_put_combine = 0, bytes_put_control = 0;
    uint64_t wqes_dispatch = 0, wqes_combine = 0;
    uint64_t doorbells_dispatch = 0, doorbells_combine = 0;
    uint64_t operations = 0;
    std::vector<uint64_t> role_ns;  // by Stage: wall time in it, waits included, of the core that took longest
};

// Null where the call has no such tensor.
struct DispatchBuffers {
    const void* x;
    const int32_t* expert_ids;
    const void* scales;
    const bool* x_active_mask;
    const float* expert_scales;
    int64_t* performance_info;
    void* expand_x;
    void* dynamic_scales;
    int32_t* assist_info;
    int32_t* ep_recv_counts;
    int64_t* expert_token_nums;
    float* expand_scales;
};
struct CombineBuffers {
    const void* expand_x;
    const int32_t* expert_ids;
    const int32_t* assist_info;
    const int32_t* ep_send_counts;
    const float* expert_scales;  // null: plain sum
    const bool* x_active_mask;
    const void* shared_expert_x;
    int64_t* performance_info;
    void* x_out;
    const float* expand_scales = nullptr;  // where rows are summed by rank, weighted
};
op_host::DispatchAddresses addresses(const DispatchBuffers& buffers);
op_host::CombineAddresses addresses(const CombineBuffers& buffers);

class Communicator {
  public:
    // Collective. Compares ABI, layout and limits of all ranks; throws CommunicatorError with the status (kNotEqual
    // names the limit and the first rank that differs, on every rank).
    static std::shared_ptr<Communicator> create(const CommunicatorOptions& options, const AllGather& all_gather);
    virtual ~Communicator() = default;

    // Host checks. Also fills the shapes the outputs need. A bad status means: call refuse() with it, then raise.
    virtual op_host::Status check(const op_host::DispatchCall& call, op_host::DispatchShapes* shapes) = 0;
    virtual op_host::Status check(const op_host::CombineCall& call) = 0;

    // Run the kernels. `call` has passed check(). The caller has released the GIL. A device only enqueues: `num_rows`
    // may be null and stays 0, and what came of the call is told by a later one, health() or synchronize().
    virtual op_host::Status dispatch(const op_host::DispatchCall& call, const DispatchBuffers& buffers,
                                     uint32_t* num_rows) = 0;
    virtual op_host::Status combine(const op_host::CombineCall& call, const CombineBuffers& buffers) = 0;
    // Enter the operation in refuse mode: control messages only, with the reason. Returns the outcome of the exchange
    // (a failure such as a time-out, else the refusal itself).
    virtual op_host::Status refuse(OperationKind kind, const op_host::Status& reason) = 0;

    // The first failure of a broken communicator, else ok. On a device also a refusal that nobody was told of yet; it
    // is read while a kernel runs, stuck or not, so it may take a moment.
    virtual op_host::Status health() const = 0;
    // The first failure known to the host by now, else ok: waits for nothing, and takes no news from health().
    virtual op_host::Status failure() const { return health(); }
    // Waits until every call made so far has ended, then health().
    virtual op_host::Status synchronize() = 0;
    virtual void close() = 0;  // idempotent, never collective, returns within 1 s
    virtual bool closed() const = 0;

    virtual std::string target() const = 0;  // where it runs: "twin", "ascend950"
    // Index of the device whose memory the calls use; -1: the host's memory.
    virtual int32_t device_index() const { return -1; }
    virtual const CommunicatorOptions& options() const = 0;
    virtual uint64_t window_bytes() const = 0;
    // What the tiling data of this communicator's kernels need; all zero addresses once it is closed.
    virtual op_host::Machine machine() const = 0;
    // The stage each core is in, or was in last: readable from any thread while a call runs.
    virtual std::vector<std::string> progress() const = 0;
    virtual Counters counters() const = 0;   // since creation, of a closed one until it was closed
    virtual std::string layout() const = 0;  // copy mode of the last dispatch, "per-rank" before the first

    // Plants one fault (twin/fabric/fault.h) in this rank's fabric; refused when the name is unknown. `events`: how
    // many events of its kind the rank is sure to have from now on.
    virtual op_host::Status set_fault(const std::string& name, uint64_t seed, uint64_t events) = 0;
    virtual bool fault_fired() const = 0;

    // Captures what happens in the calls from now on, up to `max_events` events; further ones are counted. Refused
    // while a call runs, and by a device, whose profiler does it.
    virtual op_host::Status start_trace(uint64_t max_events) = 0;
    // Ends that and gives what was captured. Refused where nothing was started.
    virtual op_host::Status stop_trace(Trace* trace) = 0;
};

// How a target makes its communicators: collective, as Communicator::create(). Libraries of a device register theirs
// when they are loaded.
using TargetFactory = std::function<std::shared_ptr<Communicator>(const CommunicatorOptions&, const AllGather&)>;
void register_target(const std::string& name, TargetFactory factory);
std::vector<std::string> target_names();

// Thrown by create() and find(): carries the status for a typed Python exception.
struct CommunicatorError {
    op_host::Status status;
};

// The communicator `name` of this process; throws CommunicatorError (kGroupEp) with the known names and the line that
// makes one.
std::shared_ptr<Communicator> find_communicator(const std::string& name);
std::vector<std::string> communicator_names();

// Cores of a kernel when nothing else is asked for: on the twin a number that keeps every role's code in use, since
// more fibers on one thread are no faster.
uint32_t default_cores();

// Entries of each queue of the twin when nothing else is asked for.
uint32_t default_queue_depth(uint32_t max_tokens);

// `check` is asked while a rank waits, at most every 100 ms, on the thread that made the call; true ends the operation.
// One for the process; null: none.
void set_interrupt_check(bool (*check)());

}  // namespace ascend_deepep

#endif  // ASCEND_DEEPEP_FRAMEWORK_RUNTIME_COMMUNICATOR_H
