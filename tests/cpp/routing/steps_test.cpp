// SPDX-License-Identifier: Apache-2.0
// The route role is linear: SIMT steps of its functions against tokens x top-k. Layer: tests.
// Rank 0 of 8 alone: its route role needs nobody. The table is printed, a JSON object a line (docs/twin.md).
#include <cstdio>
#include <vector>

#include "check.h"
#include "op_host/tiling.h"
#include "op_kernel/dispatch/route.h"
#include "tests/cpp/routing/steps.h"
#include "tests/cpp/twin/kernel_fixture.h"

namespace ascend_deepep::routing_test {
namespace {

constexpr uint32_t kRanks = 8, kExperts = 256, kHidden = 64;

enum class Choice { kUniform, kSameExperts };

struct Memory {
    alignas(4096) std::vector<uint64_t> words;
    explicit Memory(uint64_t bytes) : words(bytes / 8 + 1) {}
    uint64_t address() { return reinterpret_cast<uint64_t>(words.data()); }
};

op_host::TensorInfo tensor(Dtype dtype, std::vector<int64_t> shape) {
    op_host::TensorInfo info;
    info.is_present = true;
    info.dtype = dtype;
    info.shape = std::move(shape);
    return info;
}

// Distinct experts of each token, by a generator of its own; or the first ones for all.
std::vector<int32_t> choices(uint32_t tokens, uint32_t topk, Choice choice) {
    std::vector<int32_t> ids;
    uint64_t state = 12345;
    for (uint32_t token = 0; token < tokens; ++token) {
        std::vector<bool> taken(kExperts);
        for (uint32_t column = 0; column < topk; ++column) {
            uint32_t id = column;
            while (choice == Choice::kUniform) {
                state = state * 6364136223846793005ULL + 1442695040888963407ULL;
                id = static_cast<uint32_t>(state >> 33) % kExperts;
                if (!taken[id]) break;
            }
            taken[id] = true;
            ids.push_back(static_cast<int32_t>(id));
        }
    }
    return ids;
}

// Steps of the route role of one call, and how many copies of tokens it found.
struct Routed {
    uint64_t steps;
    uint64_t copies;
};

Routed route_once(uint32_t tokens, uint32_t topk, Choice choice) {
    const CommunicatorLimits limits{kRanks, tokens, kHidden, topk, kExperts, 0};
    op_host::DispatchCall call;
    call.x = tensor(Dtype::kBf16, {tokens, kHidden});
    call.expert_ids = tensor(Dtype::kInt32, {tokens, topk});
    call.attributes.ep_world_size = kRanks;
    call.attributes.moe_expert_num = kExperts;
    std::vector<int32_t> ids = choices(tokens, topk, choice);
    Memory window(kControlPageBytes), workspace(workspace_layout(limits).total_bytes);
    std::vector<uint64_t> windows(kRanks, window.address());
    op_host::Machine machine{};
    machine.window_table = reinterpret_cast<uint64_t>(windows.data());
    machine.workspace = workspace.address();
    machine.num_cores = kMinCores;
    op_host::DispatchAddresses addresses{};
    addresses.expert_ids = reinterpret_cast<uint64_t>(ids.data());
    DispatchTiling tiling;
    op_host::make_dispatch_tiling(limits, machine, call, addresses, &tiling);
    const uint64_t before = simt_steps();
    twin_test::run_kernel([&] {
        AscendC::TPipe pipe;
        kernel::CoreContext ctx;
        kernel::enter_operation(ctx, tiling.common, OperationKind::kDispatch, &pipe);
        kernel::route(ctx, tiling);
    });
    const Region& counts = tiling.common.workspace_layout.regions[static_cast<uint32_t>(WorkspaceRegion::kNumCopies)];
    const auto* copies = reinterpret_cast<const uint32_t*>(workspace.address() + counts.offset);
    Routed routed{simt_steps() - before, 0};
    for (uint32_t rank = 0; rank < kRanks; ++rank)
        routed.copies += copies[rank];
    return routed;
}

uint64_t uniform_steps(uint32_t tokens, uint32_t topk) {
    return route_once(tokens, topk, Choice::kUniform).steps;
}

// Steps that each further (token, column) pair costs, between half as many tokens and `tokens`: what the role does
// however few there are, counters of as many threads, is in both.
double steps_per_further_pair(uint32_t tokens, uint32_t topk) {
    const uint64_t further = uniform_steps(tokens, topk) - uniform_steps(tokens / 2, topk);
    return static_cast<double>(further) / (static_cast<double>(tokens / 2) * topk);
}

__simt_vf__ __launch_bounds__(64) inline void count_to(__ubuf__ uint32_t* sum, uint32_t n) {
    for (uint32_t i = 0; i < n; ++i)
        *(volatile __ubuf__ uint32_t*)sum = i;
}

uint64_t steps_of_count_to(uint32_t n) {
    const uint64_t before = simt_steps();
    twin_test::run_kernel([n] {
        twin_test::Scratch<uint32_t> scratch(8);
        asc_vf_call<count_to>(dim3(2), scratch.data(), n);
    });
    return simt_steps() - before;
}

}  // namespace

TEST(each_turn_of_a_loop_is_a_step) {
    const uint64_t ten = steps_of_count_to(10), hundred = steps_of_count_to(100), thousand = steps_of_count_to(1000);
    CHECK(hundred - ten >= 2 * 90);
    CHECK_EQ((thousand - hundred) * 90, (hundred - ten) * 900);
}

TEST(steps_are_linear_in_tokens) {
    for (const uint32_t topk : {1U, 8U, 16U}) {
        CHECK(steps_per_further_pair(8192, topk) <= 1.1 * steps_per_further_pair(1024, topk));
        CHECK(uniform_steps(8192, topk) <= 8 * uniform_steps(1024, topk));
    }
}

// A column is compared with those before it, so steps of a pair grow with top-k, a little.
TEST(a_choice_of_sixteen_costs_at_most_a_quarter_more_than_one_of_eight) {
    CHECK(steps_per_further_pair(8192, 16) <= 1.25 * steps_per_further_pair(8192, 8));
}

TEST(one_expert_for_all_costs_no_more_than_twice_a_uniform_choice) {
    for (const uint32_t topk : {1U, 8U, 16U}) {
        const Routed same = route_once(512, topk, Choice::kSameExperts);
        CHECK_EQ(same.copies, 512U);
        CHECK(same.steps <= 2 * uniform_steps(512, topk));
    }
}

TEST(table_of_steps) {
    for (const uint32_t topk : {8U, 16U}) {
        for (uint32_t tokens = 64; tokens <= kMaxTokens; tokens *= 2) {
            const Routed uniform = route_once(tokens, topk, Choice::kUniform);
            const Routed same = route_once(tokens, topk, Choice::kSameExperts);
            std::printf(
                "{\"tokens\": %u, \"topk\": %u, \"threads\": %u, \"steps\": %llu, \"steps_per_pair\": %.1f, "
                "\"steps_same_experts\": %llu}\n",
                tokens, topk, op_host::route_width(tokens, kExperts, kRanks),
                static_cast<unsigned long long>(uniform.steps),
                static_cast<double>(uniform.steps) / (static_cast<double>(tokens) * topk),
                static_cast<unsigned long long>(same.steps));
            CHECK(uniform.copies > same.copies && same.copies == tokens);
        }
    }
}

}  // namespace ascend_deepep::routing_test
