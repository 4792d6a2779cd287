// SPDX-License-Identifier: Apache-2.0
//
// Who may be in a call of a twin communicator. Layer: framework, for its own sources.
#ifndef ASCEND_DEEPEP_FRAMEWORK_RUNTIME_TWIN_CALL_H
#define ASCEND_DEEPEP_FRAMEWORK_RUNTIME_TWIN_CALL_H

#include <memory>

#include "framework/runtime/status_payload.h"
#include "framework/runtime/twin_communicator.h"

namespace ascend_deepep {

// One call at a time in a communicator, from one thread, in the process that made it.
class TwinCommunicator::Call {
  public:
    explicit Call(TwinCommunicator& owner) : owner_(owner), status(owner.usable()) {
        if (!status.ok()) return;
        if (owner.is_busy_.exchange(true)) {
            status = own_refusal(owner.options_.rank, Code::kOutOfRange, Field::kGroupEp, 2, 1,
                                 "another thread is in a call on communicator '" + owner.options_.name +
                                     "': one thread at a time may use it");
            return;
        }
        has_entered_ = true;
        resources = owner.resources();
        if (resources == nullptr) status = owner.usable();
    }
    ~Call() {
        if (has_entered_) owner_.is_busy_.store(false);
    }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

  private:
    TwinCommunicator& owner_;
    bool has_entered_ = false;

  public:
    op_host::Status status;
    std::shared_ptr<TwinResources> resources;  // keeps them while another thread closes
};

}  // namespace ascend_deepep

#endif  // ASCEND_DEEPEP_FRAMEWORK_RUNTIME_TWIN_CALL_H
