// SPDX-License-Identifier: Apache-2.0
// Layer: simulator.
#include "simulator/scenario/draw_roles.h"

#include <algorithm>

#include "twin/sim/random.h"

namespace ascend_deepep::simulator {
namespace {

constexpr uint64_t kRoleSalt = 0x6A3C19F5B0D7E284ULL;

}  // namespace

op_host::RoleCounts draw_roles(uint64_t seed, uint32_t num_cores, uint32_t num_ranks, uint32_t queues_per_peer) {
    sim::Random random(seed ^ kRoleSalt);
    const uint32_t queues = std::max(1U, (num_ranks - 1) * queues_per_peer);
    uint32_t spare = num_cores - op_host::min_cores();
    const auto draw = [&](uint32_t most) {
        const uint32_t more = random.between(0, std::min(spare, most - 1));
        spare -= more;
        return 1 + more;
    };
    op_host::RoleCounts roles;
    roles.wqe_builder = draw(queues);
    roles.doorbell = draw(queues);
    roles.cumsum = draw(num_ranks);
    roles.stage = 1 + spare;
    return roles;
}

}  // namespace ascend_deepep::simulator
