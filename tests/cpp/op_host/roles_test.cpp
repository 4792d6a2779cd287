// SPDX-License-Identifier: Apache-2.0
//
// The role split for every core count and many numbers of ranks. Layer: tests.
#include "op_host/roles.h"

#include <initializer_list>
#include <vector>

#include "check.h"

using namespace ascend_deepep;
using namespace ascend_deepep::op_host;

namespace {

constexpr uint32_t kRankCounts[] = {1, 2, 3, 4, 6, 8, 16, 17, 64, 256, 1024};

CommunicatorLimits with_ranks(uint32_t num_ranks) {
    return {num_ranks, 128, 1024, 1, num_ranks, 0};
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

}  // namespace

TEST(dispatch_roles_cover_every_core_count) {
    CHECK_EQ(min_cores(), 4U);
    for (uint32_t cores = 4; cores <= 72; ++cores) {
        for (const uint32_t ranks : kRankCounts) {
            const DispatchRoles r = dispatch_roles(cores, with_ranks(ranks));
            check_cover(cores, {r.stage, r.wqe_builder, r.doorbell, r.cumsum});
            CHECK(r.stage.count >= 1 && r.wqe_builder.count >= 1 && r.doorbell.count >= 1 && r.cumsum.count >= 1);
            CHECK_EQ(r.stage.first, 0U);
            CHECK(r.stage.first < r.wqe_builder.first && r.wqe_builder.first < r.doorbell.first &&
                  r.doorbell.first < r.cumsum.first);
        }
    }
}

TEST(dispatch_roles_are_bounded_by_their_work) {
    for (uint32_t cores = 4; cores <= 72; ++cores) {
        for (const uint32_t ranks : kRankCounts) {
            const DispatchRoles r = dispatch_roles(cores, with_ranks(ranks));
            CHECK(r.wqe_builder.count <= (ranks > 1 ? ranks - 1 : 1));
            CHECK(r.doorbell.count <= (ranks > 2 ? 2 : 1));
            CHECK(r.cumsum.count <= ranks && r.cumsum.count <= 8);
            if (cores >= 6) CHECK(2 * r.stage.count >= cores);
        }
    }
}

// Written down, so that a change of the split is seen: {cores, ranks, stage, builders, doorbells, cumsum}.
TEST(dispatch_roles_equal_golden_table) {
    constexpr uint32_t kGolden[][6] = {
        {4, 1, 1, 1, 1, 1},   {4, 8, 1, 1, 1, 1},       {5, 8, 2, 1, 1, 1},    {7, 8, 4, 1, 1, 1},
        {8, 8, 5, 1, 1, 1},   {13, 8, 9, 2, 1, 1},      {24, 1, 21, 1, 1, 1},  {24, 8, 16, 4, 1, 3},
        {48, 8, 34, 7, 1, 6}, {48, 16, 33, 8, 1, 6},    {48, 17, 32, 8, 2, 6}, {64, 64, 44, 10, 2, 8},
        {72, 4, 64, 3, 1, 4}, {72, 1024, 50, 12, 2, 8},
    };
    for (const auto& g : kGolden) {
        const DispatchRoles r = dispatch_roles(g[0], with_ranks(g[1]));
        CHECK_EQ(r.stage.count, g[2]);
        CHECK_EQ(r.wqe_builder.count, g[3]);
        CHECK_EQ(r.doorbell.count, g[4]);
        CHECK_EQ(r.cumsum.count, g[5]);
    }
}

TEST(combine_roles_cover_every_core_count) {
    for (uint32_t cores = 4; cores <= 72; ++cores) {
        const CombineRoles mte = combine_roles(cores, CombineEngine::kMte);
        check_cover(cores, {mte.control, mte.doorbell, mte.send});
        CHECK_EQ(mte.control.first, 0U);
        CHECK_EQ(mte.control.count, 1U);
        CHECK_EQ(mte.doorbell.count, 0U);
        CHECK_EQ(mte.send.first, 1U);
        const CombineRoles urma = combine_roles(cores, CombineEngine::kUrma);
        check_cover(cores, {urma.control, urma.doorbell, urma.send});
        CHECK_EQ(urma.control.count, 1U);
        CHECK_EQ(urma.doorbell.first, 1U);
        CHECK_EQ(urma.doorbell.count, 1U);
        CHECK_EQ(urma.send.first, 2U);
        CHECK_EQ(urma.send.count, cores - 2);
    }
}
