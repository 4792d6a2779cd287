// SPDX-License-Identifier: Apache-2.0
// dispatch_v2 and combine_v2 through all roles, bitwise against plain loops, in both policies. Layer: tests.
#include "rounds.h"

namespace ascend_deepep::test {
namespace {

void run_case(const Case& c, uint32_t rounds = 3) {
    for (const char* policy : {"fast", "sim"}) {
        run_world(world_of(c, policy), [&](RankMachine& rank) {
            for (uint32_t round = 0; round < rounds; ++round) check_round(rank, c, round);
        });
    }
}

constexpr CombineEngine kUrma = CombineEngine::kUrma;

TEST(one_rank) { run_case({1, 5, 2, 4, 64, 4}); }
TEST(two_ranks) { run_case({2, 7, 2, 4, 1024, 8}); }
TEST(three_ranks_with_holes) { run_case({3, 33, 4, 12, 80, 13, Routing::kHoles}); }
TEST(four_ranks_urma_combine) { run_case({4, 16, 8, 32, 1040, 24, Routing::kUniform, kUrma}); }
TEST(small_ring_wraps) { run_case({2, 40, 2, 4, 64, 5, Routing::kUniform, kUrma, 4}, 6); }
TEST(one_hot) { run_case({4, 20, 2, 8, 128, 7, Routing::kOneHot}); }
TEST(no_live_choice) { run_case({2, 6, 2, 4, 64, 4, Routing::kNone}); }
TEST(no_tokens_at_all) { run_case({3, 0, 2, 6, 64, 4}); }
TEST(uneven_tokens) { run_case({4, 12, 3, 8, 256, 8, Routing::kUniform, kUrma, 64, true}); }
TEST(many_cores_few_tokens) { run_case({2, 3, 1, 2, 64, 72}); }
TEST(large_rows_in_tiles) { run_case({2, 4, 16, 32, 8192, 8}); }

}  // namespace
}  // namespace ascend_deepep::test
