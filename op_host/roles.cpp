// SPDX-License-Identifier: Apache-2.0
//
// The role split. Layer: op_host. Staging moves the most bytes, so it takes what the other roles leave.
#include "op_host/roles.h"

#include <algorithm>

namespace ascend_deepep::op_host {
namespace {

constexpr uint32_t kCoresPerCumsum = 8;
constexpr uint32_t kMaxCumsum = 8;
constexpr uint32_t kCoresPerBuilder = 6;
constexpr uint32_t kCoresForTwoDoorbells = 32;
constexpr uint32_t kPeersForTwoDoorbells = 16;

uint32_t share(uint32_t num_cores, uint32_t cores_each, uint32_t most) {
    return std::clamp(num_cores / cores_each, 1U, std::max(1U, most));
}

}  // namespace

uint32_t min_cores() {
    return kMinCores;
}

DispatchRoles dispatch_roles(uint32_t num_cores, const CommunicatorLimits& limits) {
    const uint32_t num_peers = limits.num_ranks - 1;
    // A queue has one writer, so builders beyond the number of peers would have nothing to own; the same goes for
    // cumsum cores, which own source ranks. One rank alone keeps both roles: they publish that there is no work.
    const uint32_t num_builders = share(num_cores, kCoresPerBuilder, num_peers);
    const uint32_t num_cumsum = share(num_cores, kCoresPerCumsum, std::min(limits.num_ranks, kMaxCumsum));
    const uint32_t num_doorbells = num_cores >= kCoresForTwoDoorbells && num_peers >= kPeersForTwoDoorbells ? 2U : 1U;
    const uint32_t num_stage = num_cores - num_builders - num_doorbells - num_cumsum;

    DispatchRoles roles{};
    roles.stage = CoreRange{0, num_stage};
    roles.wqe_builder = CoreRange{num_stage, num_builders};
    roles.doorbell = CoreRange{num_stage + num_builders, num_doorbells};
    roles.cumsum = CoreRange{num_stage + num_builders + num_doorbells, num_cumsum};
    return roles;
}

CombineRoles combine_roles(uint32_t num_cores, CombineEngine engine) {
    const uint32_t num_doorbells = engine == CombineEngine::kUrma ? 1U : 0U;
    const uint32_t first_send = 1 + num_doorbells;
    return CombineRoles{CoreRange{0, 1}, CoreRange{num_doorbells, num_doorbells},
                        CoreRange{first_send, num_cores - first_send}};
}

}  // namespace ascend_deepep::op_host
