// SPDX-License-Identifier: Apache-2.0
//
// Which refusals were told, and which are news. Layer: framework, devices.
#include "framework/npu/late_refusals.h"

#include <algorithm>

#include "op_host/messages.h"

namespace ascend_deepep::npu {

void LateRefusals::remember(uint32_t origin) {
    const uint32_t operation = operation_of(origin);
    if (!known_.insert(operation).second) return;
    known_order_.push_back(operation);
    if (known_order_.size() <= kRemembered) return;
    known_.erase(known_order_.front());
    known_order_.pop_front();
}

void LateRefusals::note(uint64_t sequence, OperationKind kind, const Refusal& refusal, bool was_told) {
    const uint32_t origin = refusal.echo != 0 ? refusal.echo : make_echo(refusal.rank, sequence);
    if (was_told) {
        remember(origin);
    } else {
        pending_.push_back({sequence, kind, refusal, origin});
    }
}

op_host::Status LateRefusals::describe(const Refused& refused, bool must_pass_on) const {
    op_host::Status status;
    status.refusal = refused.refusal;
    const uint32_t told_by = refused.refusal.rank;
    status.refusal.rank = echo_rank(refused.origin);
    status.refusal.echo = refused.origin;
    status.record.rank = rank_;
    status.record.kind = static_cast<uint32_t>(refused.kind);
    status.message = op_host::describe(status.refusal, refused.kind, rank_) + " (" + op_host::kind_name(refused.kind) +
                     " was operation " + std::to_string(refused.sequence);
    if (refused.refusal.echo != 0) {
        status.message += ", in which rank " + std::to_string(told_by) + " passed on this refusal of an earlier one";
    }
    if (pending_.size() > 1) {
        status.message += "; " + std::to_string(pending_.size()) + " operations were refused until now";
    }
    status.message += must_pass_on ? "; this call moved nothing)" : "; this call was made, its results are dropped)";
    return status;
}

std::optional<LateRefusals::Notice> LateRefusals::take() {
    if (pending_.empty()) return std::nullopt;
    std::stable_sort(pending_.begin(), pending_.end(),
                     [](const Refused& a, const Refused& b) { return a.sequence < b.sequence; });
    const auto news = std::find_if(pending_.begin(), pending_.end(),
                                   [&](const Refused& refused) { return !is_known(refused.origin); });
    const bool must_pass_on = news != pending_.end();
    Notice notice{describe(must_pass_on ? *news : pending_.front(), must_pass_on), must_pass_on};
    for (const Refused& refused : pending_)
        remember(refused.origin);
    pending_.clear();
    return notice;
}

}  // namespace ascend_deepep::npu
