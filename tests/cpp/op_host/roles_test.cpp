// SPDX-License-Identifier: Apache-2.0
//
// The role split for every core count and many numbers of ranks: by the model, and as callers want it. Layer: tests.
#include "op_host/roles.h"

#include <algorithm>
#include <initializer_list>
#include <vector>

#include "check.h"

using namespace ascend_deepep;
using namespace ascend_deepep::op_host;

namespace {

constexpr uint32_t kRankCounts[] = {1, 2, 3, 4, 6, 8, 16, 17, 64, 256, 1024};
constexpr uint32_t kCopyBytes = 15360;  // 7168 bf16 elements and a header
constexpr RoleCounts kByModel{};

RoleLoad bf16_call(uint32_t num_ranks, uint32_t queues_per_peer, uint32_t num_tokens) {
    return {num_ranks, queues_per_peer, num_tokens, 8, std::max(1U, 256 / num_ranks), kCopyBytes, false};
}

// Each core in exactly one of the ranges.
void check_cover(uint32_t num_cores, std::initializer_list<CoreRange> ranges) {
    std::vector<int> owners(num_cores, 0);
    for (const CoreRange& range : ranges) {
        CHECK(uint64_t{range.first} + range.count <= num_cores);
        for (uint32_t core = range.first; core < range.first + range.count && core < num_cores; ++core)
            ++owners[core];
    }
    for (uint32_t core = 0; core < num_cores; ++core)
        CHECK_EQ(owners[core], 1);
}

template <typename Check>
void for_all_loads(Check check) {
    for (const uint32_t ranks : kRankCounts) {
        for (uint32_t queues = 1; queues <= kMaxQueuesPerPeer; ++queues) {
            for (const uint32_t tokens : {0U, 1U, 128U, kMaxTokens}) {
                for (const uint32_t columns : {1U, 8U, kMaxColumns})
                    check(RoleLoad{ranks, queues, tokens, columns, std::max(1U, 512 / ranks), 2048, tokens == 128});
            }
        }
    }
}

void check_counts(const DispatchRoles& r, std::initializer_list<uint32_t> want) {
    const std::vector<uint32_t> got{r.stage.count, r.wqe_builder.count, r.doorbell.count, r.cumsum.count};
    CHECK(std::equal(want.begin(), want.end(), got.begin()));
}

}  // namespace

TEST(dispatch_roles_cover_every_core_count) {
    CHECK_EQ(min_cores(), 4U);
    for (uint32_t cores = kMinCores; cores <= kMaxCores; ++cores) {
        for_all_loads([cores](const RoleLoad& load) {
            const DispatchRoles r = dispatch_roles(cores, load, kByModel);
            check_cover(cores, {r.stage, r.wqe_builder, r.doorbell, r.cumsum});
            CHECK(r.stage.count >= 1 && r.wqe_builder.count >= 1 && r.doorbell.count >= 1 && r.cumsum.count >= 1);
            CHECK_EQ(r.stage.first, 0U);
            CHECK(r.stage.first < r.wqe_builder.first && r.wqe_builder.first < r.doorbell.first &&
                  r.doorbell.first < r.cumsum.first);
        });
    }
}

TEST(dispatch_roles_are_bounded_by_their_work) {
    for (uint32_t cores = kMinCores; cores <= kMaxCores; ++cores) {
        for_all_loads([cores](const RoleLoad& load) {
            const DispatchRoles r = dispatch_roles(cores, load, kByModel);
            const uint32_t queues = std::max(1U, (load.num_ranks - 1) * load.queues_per_peer);
            CHECK(r.wqe_builder.count <= queues && r.doorbell.count <= queues);
            CHECK(r.cumsum.count <= load.num_ranks);
        });
    }
}

// More cores: no role but stage, which takes what is left, gets fewer, and the longest role gets no longer.
TEST(more_cores_never_make_the_longest_role_longer) {
    for_all_loads([](const RoleLoad& load) {
        DispatchRoles before = dispatch_roles(kMinCores, load, kByModel);
        for (uint32_t cores = kMinCores + 1; cores <= kMaxCores; ++cores) {
            const DispatchRoles r = dispatch_roles(cores, load, kByModel);
            CHECK(r.wqe_builder.count >= before.wqe_builder.count && r.doorbell.count >= before.doorbell.count &&
                  r.cumsum.count >= before.cumsum.count);
            CHECK(longest_role(r, load) <= longest_role(before, load));
            before = r;
        }
    });
}

// By trying all splits of few cores.
TEST(no_split_has_a_shorter_longest_role) {
    constexpr uint32_t kCores = 14;
    for_all_loads([](const RoleLoad& load) {
        const double chosen = longest_role(dispatch_roles(kCores, load, kByModel), load);
        for (uint32_t stage = 1; stage <= kCores - 3; ++stage) {
            for (uint32_t builder = 1; stage + builder <= kCores - 2; ++builder) {
                for (uint32_t doorbell = 1; stage + builder + doorbell <= kCores - 1; ++doorbell) {
                    const RoleCounts other{stage, builder, doorbell, kCores - stage - builder - doorbell};
                    CHECK(longest_role(dispatch_roles(kCores, load, other), load) >= chosen);
                }
            }
        }
    });
}

TEST(more_tokens_get_more_cores_that_stage_and_ring) {
    const DispatchRoles few = dispatch_roles(24, bf16_call(8, 1, 1), kByModel);
    const DispatchRoles many = dispatch_roles(24, bf16_call(8, 1, 4096), kByModel);
    CHECK(few.cumsum.count > many.cumsum.count);
    CHECK(few.stage.count + few.doorbell.count < many.stage.count + many.doorbell.count);
}

// Written down, so that a change of the split is seen: {cores, ranks, queues, tokens, stage, builders, doorbells,
// cumsum}.
TEST(dispatch_roles_equal_golden_table) {
    constexpr uint32_t kGolden[][8] = {
        {4, 1, 1, 1, 1, 1, 1, 1},        {4, 1, 1, 128, 1, 1, 1, 1},        {4, 1, 1, 4096, 1, 1, 1, 1},
        {4, 8, 1, 1, 1, 1, 1, 1},        {4, 8, 1, 128, 1, 1, 1, 1},        {4, 8, 1, 4096, 1, 1, 1, 1},
        {7, 8, 1, 1, 1, 2, 2, 2},        {7, 8, 1, 128, 1, 1, 4, 1},        {7, 8, 1, 4096, 1, 1, 4, 1},
        {13, 8, 1, 1, 2, 4, 4, 3},       {13, 8, 1, 128, 4, 1, 7, 1},       {13, 8, 1, 4096, 4, 1, 7, 1},
        {16, 2, 1, 1, 12, 1, 1, 2},      {16, 2, 1, 128, 13, 1, 1, 1},      {16, 2, 1, 4096, 13, 1, 1, 1},
        {16, 4, 1, 1, 6, 3, 3, 4},       {16, 4, 1, 128, 11, 1, 3, 1},      {16, 4, 1, 4096, 11, 1, 3, 1},
        {16, 8, 1, 1, 1, 4, 7, 4},       {16, 8, 1, 128, 7, 1, 7, 1},       {16, 8, 1, 4096, 7, 1, 7, 1},
        {16, 8, 4, 1, 1, 6, 7, 2},       {16, 8, 4, 128, 3, 2, 10, 1},      {16, 8, 4, 4096, 4, 1, 10, 1},
        {24, 1, 1, 1, 21, 1, 1, 1},      {24, 1, 1, 128, 21, 1, 1, 1},      {24, 1, 1, 4096, 21, 1, 1, 1},
        {24, 8, 1, 1, 9, 4, 7, 4},       {24, 8, 1, 128, 15, 1, 7, 1},      {24, 8, 1, 4096, 15, 1, 7, 1},
        {24, 8, 2, 1, 6, 7, 7, 4},       {24, 8, 2, 128, 7, 2, 14, 1},      {24, 8, 2, 4096, 7, 2, 14, 1},
        {48, 8, 4, 1, 2, 14, 28, 4},     {48, 8, 4, 128, 13, 5, 28, 2},     {48, 8, 4, 4096, 16, 3, 28, 1},
        {64, 64, 1, 1, 24, 11, 16, 13},  {64, 64, 1, 128, 19, 7, 32, 6},    {64, 64, 1, 4096, 28, 3, 32, 1},
        {72, 4, 4, 1, 44, 12, 12, 4},    {72, 4, 4, 128, 57, 2, 12, 1},     {72, 4, 4, 4096, 58, 1, 12, 1},
        {72, 256, 1, 1, 1, 22, 29, 20},  {72, 256, 1, 128, 4, 17, 37, 14},  {72, 256, 1, 4096, 15, 4, 51, 2},
        {72, 1024, 1, 1, 1, 23, 31, 17}, {72, 1024, 1, 128, 2, 22, 33, 15}, {72, 1024, 1, 4096, 7, 7, 54, 4},
    };
    for (const auto& g : kGolden)
        check_counts(dispatch_roles(g[0], bf16_call(g[1], g[2], g[3]), kByModel), {g[4], g[5], g[6], g[7]});
}

TEST(given_roles_are_kept_and_the_model_shares_out_the_rest) {
    for (uint32_t cores = 16; cores <= kMaxCores; ++cores) {
        check_counts(dispatch_roles(cores, bf16_call(8, 1, 128), {cores - 9, 4, 3, 2}), {cores - 9, 4, 3, 2});
        const DispatchRoles r = dispatch_roles(cores, bf16_call(8, 1, 128), {0, 3, 0, 2});
        CHECK_EQ(r.wqe_builder.count, 3U);
        CHECK_EQ(r.cumsum.count, 2U);
        CHECK_EQ(r.stage.count + r.doorbell.count, cores - 5);
        CHECK_EQ(dispatch_roles(cores, bf16_call(8, 1, 128), {5, 0, 0, 0}).stage.count, 5U);
    }
}

TEST(role_texts_are_read) {
    RoleCounts counts;
    CHECK(parse_roles("", &counts).ok());
    CHECK_EQ(counts.stage + counts.wqe_builder + counts.doorbell + counts.cumsum, 0U);
    CHECK(parse_roles("cumsum=1,stage=8,doorbell=3,wqe_builder=2", &counts).ok());
    CHECK(counts.stage == 8 && counts.wqe_builder == 2 && counts.doorbell == 3 && counts.cumsum == 1);
    const auto message = [&](const char* text) { return parse_roles(text, &counts).message; };
    CHECK_EQ(message("stage=0"),
             "roles = 'stage=0': stage = '0' is no number from 1 to 72: every role has a core at least");
    CHECK_EQ(message("cumsum=2x"),
             "roles = 'cumsum=2x': cumsum = '2x' is no number from 1 to 72: every role has a core at least");
    const std::string form =
        "pass stage, wqe_builder, doorbell and cumsum with their cores, or some of them: "
        "'stage=8,doorbell=1'";
    CHECK_EQ(message("stage=1,stage=2"), "roles = 'stage=1,stage=2' names stage twice: " + form);
    CHECK_EQ(message("route=1"), "roles = 'route=1': 'route=1' is not a role with a number of cores: " + form);
    CHECK_EQ(message("stage"), "roles = 'stage': 'stage' is not a role with a number of cores: " + form);
}

TEST(illegal_roles_are_refused) {
    CHECK(check_roles({13, 1, 1, 1}, 16, 4, 1).ok());
    CHECK(check_roles({0, 12, 1, 1}, 16, 4, 4).ok());
    CHECK(check_roles({}, 4, 1, 1).ok());
    CHECK(check_roles({1, 1, 1, 1}, 4, 1, 1).ok());
    const auto message = [](const RoleCounts& counts, uint32_t queues) {
        return check_roles(counts, 16, 4, queues).message;
    };
    CHECK_EQ(message({0, 4, 0, 0}, 1),
             "roles: wqe_builder = 4 is above 3: a queue to a peer has one such core, and num_ranks = 4 with "
             "queues_per_peer "
             "= 1 make 3; pass fewer, or raise queues_per_peer");
    CHECK(message({0, 0, 7, 0}, 2).find("roles: doorbell = 7 is above 6: ") == 0);
    CHECK_EQ(message({0, 0, 0, 5}, 1),
             "roles: cumsum = 5 is above num_ranks = 4: a rank's messages are read by one such core; pass fewer");
    CHECK_EQ(message({14, 0, 0, 1}, 1),
             "roles: stage = 14, cumsum = 1 come to 17 cores, with one for each other role, and num_cores is 16: pass "
             "fewer, or raise num_cores");
    CHECK_EQ(
        message({8, 2, 1, 1}, 1),
        "roles: stage = 8, wqe_builder = 2, doorbell = 1, cumsum = 1 come to 12 cores and num_cores is 16: leave a "
        "role out, which then takes the rest, or pass num_cores = 12");
    CHECK_EQ(check_roles({0, 0, 0, 5}, 16, 4, 1).refusal.code, Code::kOutOfRange);
}

TEST(combine_roles_cover_every_core_count) {
    for (uint32_t cores = kMinCores; cores <= kMaxCores; ++cores) {
        const CombineRoles mte = combine_roles(cores, bf16_call(8, 1, 128), CombineEngine::kMte);
        check_cover(cores, {mte.control, mte.doorbell, mte.send});
        CHECK_EQ(mte.control.count, 1U);
        CHECK_EQ(mte.doorbell.count, 0U);
        CHECK_EQ(mte.send.first, 1U);
        for_all_loads([cores](const RoleLoad& load) {
            const CombineRoles urma = combine_roles(cores, load, CombineEngine::kUrma);
            check_cover(cores, {urma.control, urma.doorbell, urma.send});
            CHECK_EQ(urma.control.count, 1U);
            CHECK_EQ(urma.doorbell.first, 1U);
            CHECK(urma.doorbell.count >= 1 && urma.send.count >= 1);
            CHECK(urma.doorbell.count <= std::max(1U, (load.num_ranks - 1) * load.queues_per_peer));
        });
    }
}
