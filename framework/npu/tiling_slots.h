// SPDX-License-Identifier: Apache-2.0
//
// Where a launch keeps what the host gives it and what it says to the host: its tiling data in device memory, copied
// there in front of the kernel from pinned memory, and the letter copied back behind it. Layer: framework, devices.
// Nothing here waits. A slot is used again after its launch has ended, as an event says that is asked, never waited
// for; when none has ended there are more slots. A recorded launch may run again, so its slot is its own until the end.
#ifndef ASCEND_DEEPEP_FRAMEWORK_NPU_TILING_SLOTS_H
#define ASCEND_DEEPEP_FRAMEWORK_NPU_TILING_SLOTS_H

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "contract/tiling_data.h"
#include "framework/npu/device_memory.h"
#include "framework/npu/mailbox.h"

namespace ascend_deepep::npu {

constexpr uint64_t kTilingBytes = align_up(std::max(sizeof(DispatchTiling), sizeof(CombineTiling)), kBlockBytes);

struct TilingSlot {
    uint8_t* host_tiling;
    uint8_t* device_tiling;
    uint8_t* letter;  // pinned
    void* event;      // recorded behind all of the launch
    OperationKind kind;
    bool is_refused;         // entered in refuse mode: its caller has been told
    uint64_t next_sequence;  // recorded launches: of the letter read last
};

class TilingSlots {
  public:
    explicit TilingSlots(const Acl& acl) : acl_(acl) {}
    ~TilingSlots();
    TilingSlots(const TilingSlots&) = delete;
    TilingSlots& operator=(const TilingSlots&) = delete;

    // A slot that nothing uses. Give it to started() once its event is recorded. The caller has called collect(), and
    // holds a RelaxedCapture when it records: there may have to be more slots.
    TilingSlot& take();
    void started(TilingSlot& slot, bool is_recorded);

    using Visitor = std::function<void(TilingSlot&)>;
    // Visits the launches that have ended since, in their order, and frees their slots.
    void collect(const Visitor& ended);
    void visit_recorded(const Visitor& recorded);

    size_t num_running() const { return running_.size(); }
    bool has_recorded() const { return !recorded_.empty(); }
    void visit_all(const Visitor& visitor);

  private:
    // Slots made at a time: allocations are rare, and rarer than recordings.
    static constexpr uint32_t kChunk = 32;
    void grow();

    const Acl& acl_;
    std::vector<Allocation> memory_;
    std::vector<std::unique_ptr<TilingSlot>> slots_;
    std::vector<TilingSlot*> free_;
    std::deque<TilingSlot*> running_;  // in launch order
    std::vector<TilingSlot*> recorded_;
};

}  // namespace ascend_deepep::npu

#endif  // ASCEND_DEEPEP_FRAMEWORK_NPU_TILING_SLOTS_H
