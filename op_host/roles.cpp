// SPDX-License-Identifier: Apache-2.0
//
// The role split by a model. Layer: op_host. docs/decisions/0014-role-split-by-a-model.md.
#include "op_host/roles.h"

#include <algorithm>
#include <array>

namespace ascend_deepep::op_host {
namespace {

// Unit costs in cycles of 1 ns. None of them is measured on an NPU; what counts is how they compare.
constexpr double kUnitCycles = 1;        // 32 B between GM and UB, one way
constexpr double kItemCycles = 200;      // events between pipes, for a token, a row or a message
constexpr double kWordCycles = 500;      // a scalar access past the cache
constexpr double kBatchCycles = 500;     // composing a batch of WQEs
constexpr uint32_t kBatchWords = 8;      // scalar accesses of a batch: free space, the queue's context, the flag
constexpr uint32_t kWqeBatch = 64;       // WQEs that a builder composes at a time
constexpr uint32_t kRowBatchWords = 12;  // of a row of combine: a batch of one, its counts and its triple
constexpr uint32_t kServedWords = 2;     // of the doorbell role for each WQE: its token's slot, its CQE
constexpr uint32_t kQueueWords = 12;     // of the doorbell role for each queue: flags, registers, indices
constexpr uint32_t kMessageWords = 5;    // of a control message: copies, flags, sizes
constexpr double kPrefixCycles = 16;     // of a (local expert, source) block: two passes over UB
constexpr uint32_t kFlagWords = 2;       // that other cores read of each cumsum core: `partial`, `placed`

// A role's work: items that are dealt to its cores, and what each of its cores costs all the others.
struct Work {
    uint64_t items;
    double item_cycles;
    double core_cycles;
    uint32_t most;  // cores that can have work

    double cycles(uint32_t cores) const {
        return static_cast<double>(ceil_div(items, cores)) * item_cycles + core_cycles * cores;
    }
};

// Tokens choose ranks evenly and independently: of `columns` choices, how many different peers they reach, or with a
// copy for each of them, how many leave the rank.
double copies_to_peers(const RoleLoad& load) {
    const double ranks = load.num_ranks;
    if (load.is_per_expert) return load.num_columns * (ranks - 1) / ranks;
    double missed = 1;
    for (uint32_t column = 0; column < load.num_columns; ++column)
        missed *= (ranks - 1) / ranks;
    return (ranks - 1) * (1 - missed);
}

double item_cycles(uint32_t bytes) {
    return kItemCycles + 2 * kUnitCycles * static_cast<double>(ceil_div(bytes, kUnitBytes));  // in and out
}

uint32_t num_queues(uint32_t num_ranks, uint32_t queues_per_peer) {
    return (num_ranks - 1) * queues_per_peer;
}

double per_queue(double items_to_peers, const RoleLoad& load) {
    const uint32_t queues = num_queues(load.num_ranks, load.queues_per_peer);
    return queues == 0 ? 0 : items_to_peers / queues;
}

Work doorbell_work(double wqes, const RoleLoad& load) {
    const uint32_t queues = num_queues(load.num_ranks, load.queues_per_peer);
    return {queues, (per_queue(wqes, load) * kServedWords + kQueueWords) * kWordCycles, 0, std::max(1U, queues)};
}

using DispatchWork = std::array<Work, 4>;  // in core order

DispatchWork dispatch_work(const RoleLoad& load) {
    const double copies = load.num_tokens * copies_to_peers(load);
    const uint32_t queues = num_queues(load.num_ranks, load.queues_per_peer);
    const double batches = static_cast<double>(static_cast<uint64_t>(per_queue(copies, load)) / kWqeBatch + 1);
    const double message = 2 * item_cycles(load.local_experts * static_cast<uint32_t>(sizeof(uint32_t)));
    return {Work{load.num_tokens, item_cycles(load.token_bytes) * (load.is_per_expert ? load.num_columns : 1), 0,
                 kMaxCores},
            Work{queues, batches * (kBatchWords * kWordCycles + kBatchCycles), 0, std::max(1U, queues)},
            doorbell_work(copies, load),
            Work{load.num_ranks, message + kMessageWords * kWordCycles + load.local_experts * kPrefixCycles,
                 kFlagWords * kWordCycles, load.num_ranks}};
}

// Cores of each role. Again and again the role that takes longest gets the cores that make it shorter, until it cannot
// become shorter; what is left goes to role `rest`. So no other split has a shorter longest role, but for what `fixed`
// holds.
template <size_t kRoles>
std::array<uint32_t, kRoles> share_out(const std::array<Work, kRoles>& work, const std::array<uint32_t, kRoles>& fixed,
                                       uint32_t num_cores, size_t rest) {
    std::array<uint32_t, kRoles> cores;
    uint32_t spare = num_cores;
    for (size_t role = 0; role < kRoles; ++role) {
        cores[role] = fixed[role] == 0 ? 1 : fixed[role];
        spare -= cores[role];
    }
    while (spare != 0) {
        size_t longest = kRoles;
        for (size_t role = 0; role < kRoles; ++role) {
            if (fixed[role] != 0) continue;
            if (longest == kRoles || work[role].cycles(cores[role]) > work[longest].cycles(cores[longest]))
                longest = role;
        }
        if (longest == kRoles) break;
        const uint32_t most = std::min(work[longest].most, cores[longest] + spare);
        const double now = work[longest].cycles(cores[longest]);
        uint32_t more = cores[longest] + 1;
        while (more <= most && work[longest].cycles(more) >= now)
            ++more;
        if (more > most) break;
        spare -= more - cores[longest];
        cores[longest] = more;
    }
    cores[rest] += spare;
    return cores;
}

}  // namespace

uint32_t min_cores() {
    return kMinCores;
}

DispatchRoles dispatch_roles(uint32_t num_cores, const RoleLoad& load, const RoleCounts& wanted) {
    const std::array<uint32_t, 4> fixed{wanted.stage, wanted.wqe_builder, wanted.doorbell, wanted.cumsum};
    // Cores that are left over stage; where their number is given, they build WQEs, and so on.
    size_t rest = 0;
    while (rest < 3 && fixed[rest] != 0)
        ++rest;
    const auto cores = share_out(dispatch_work(load), fixed, num_cores, rest);
    DispatchRoles roles{};
    roles.stage = CoreRange{0, cores[0]};
    roles.wqe_builder = CoreRange{cores[0], cores[1]};
    roles.doorbell = CoreRange{cores[0] + cores[1], cores[2]};
    roles.cumsum = CoreRange{cores[0] + cores[1] + cores[2], cores[3]};
    return roles;
}

double longest_role(const DispatchRoles& roles, const RoleLoad& load) {
    const DispatchWork work = dispatch_work(load);
    return std::max({work[0].cycles(roles.stage.count), work[1].cycles(roles.wqe_builder.count),
                     work[2].cycles(roles.doorbell.count), work[3].cycles(roles.cumsum.count)});
}

CombineRoles combine_roles(uint32_t num_cores, const RoleLoad& load, CombineEngine engine) {
    if (engine == CombineEngine::kMte) return {CoreRange{0, 1}, CoreRange{0, 0}, CoreRange{1, num_cores - 1}};
    // Ranks hold as many rows as they have choices, on average; those of peers leave by queues.
    const uint64_t rows = uint64_t{load.num_tokens} * load.num_columns;
    const double to_peers = static_cast<double>(rows) * (load.num_ranks - 1) / load.num_ranks;
    const uint32_t queues = num_queues(load.num_ranks, load.queues_per_peer);
    const double row_cycles = item_cycles(load.token_bytes) + kRowBatchWords * kWordCycles + kBatchCycles;
    const std::array<Work, 2> work{doorbell_work(to_peers, load),
                                   Work{std::max(1U, queues), per_queue(to_peers, load) * row_cycles, 0, kMaxCores}};
    const auto cores = share_out(work, {0, 0}, num_cores - 1, 1);
    return {CoreRange{0, 1}, CoreRange{1, cores[0]}, CoreRange{1 + cores[0], cores[1]}};
}

}  // namespace ascend_deepep::op_host
