// SPDX-License-Identifier: Apache-2.0
//
// Refusals that the host learns of after the call: each is told once, and passed on to the other ranks at most once.
// Layer: framework, devices. docs/protocol.md, "Late results", argues why ranks that learn at different calls converge.
#ifndef ASCEND_DEEPEP_FRAMEWORK_NPU_LATE_REFUSALS_H
#define ASCEND_DEEPEP_FRAMEWORK_NPU_LATE_REFUSALS_H

#include <deque>
#include <optional>
#include <set>
#include <vector>

#include "op_host/status.h"

namespace ascend_deepep::npu {

class LateRefusals {
  public:
    explicit LateRefusals(uint32_t rank) : rank_(rank) {}

    // Operation `sequence` ended refused. `was_told`: its own call raised, because it was entered in refuse mode.
    void note(uint64_t sequence, OperationKind kind, const Refusal& refusal, bool was_told);

    struct Notice {
        op_host::Status status;  // to raise
        bool must_pass_on;       // the call that raises enters its operation in refuse mode, with status.refusal
    };
    // All that was noted and not told yet, as one notice.
    std::optional<Notice> take();

  private:
    struct Refused {
        uint64_t sequence;
        OperationKind kind;
        Refusal refusal;
        uint32_t origin;  // make_echo() of the refusal it goes back to
    };
    // All ranks agree on which operation was refused, but each may name another rank for it.
    static uint32_t operation_of(uint32_t origin) { return origin >> kEchoRankBits; }
    // Echoes come a few operations after their origin: that many are enough to know them again.
    static constexpr size_t kRemembered = 256;

    bool is_known(uint32_t origin) const { return known_.count(operation_of(origin)) != 0; }
    void remember(uint32_t origin);
    op_host::Status describe(const Refused& refused, bool must_pass_on) const;

    uint32_t rank_;
    std::vector<Refused> pending_;
    std::set<uint32_t> known_;  // operations that this rank raised for
    std::deque<uint32_t> known_order_;
};

}  // namespace ascend_deepep::npu

#endif  // ASCEND_DEEPEP_FRAMEWORK_NPU_LATE_REFUSALS_H
