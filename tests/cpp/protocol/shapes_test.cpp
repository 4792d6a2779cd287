// SPDX-License-Identifier: Apache-2.0
// Shapes at their edges: block borders, several control blocks, many ranks, maxima, odd addresses. Layer: tests.
#include "rounds.h"

namespace ascend_deepep::test {
namespace {

CombineEngine engine_of(uint32_t i) {
    return i % 2 == 0 ? CombineEngine::kMte : CombineEngine::kUrma;
}

void run_both(const Case& c, uint32_t rounds, const CommunicatorLimits* limits = nullptr) {
    for (const char* policy : {"fast", "sim"}) {
        WorldOptions options = world_of(c, policy);
        if (limits != nullptr) options.limits = *limits;
        run_world(options, [&](RankMachine& rank) {
            for (uint32_t round = 0; round < rounds; ++round)
                check_round(rank, c, round);
        });
    }
}

// Control messages of several blocks: 128 + 4 * 200 B are two, 128 + 4 * 1024 nine.
TEST(control_messages_of_two_blocks) {
    run_both({2, 9, 8, 400, 64, 8}, 6);
}
TEST(control_messages_of_nine_blocks) {
    run_both({1, 30, 16, 1024, 64, 4}, 5);
}
TEST(the_89th_local_expert) {
    run_both({2, 9, 8, 178, 64, 24}, 5);
    run_both({2, 9, 8, 176, 64, 24}, 5);
}
TEST(many_ranks) {
    run_both({16, 5, 8, 256, 64, 24, Routing::kUniform, CombineEngine::kUrma, 4}, 3);
    run_both({24, 3, 4, 48, 64, 33, Routing::kHoles}, 3);
}
TEST(largest_hidden_urma) {
    run_both({2, 5, 16, 32, 8192, 5, Routing::kUniform, CombineEngine::kUrma, 4}, 4);
}
TEST(header_at_block_edges) {
    // payload ends at, just before and just after a block's end; header crosses it
    for (uint32_t hidden : {64U, 80U, 224U, 240U, 256U, 464U, 480U, 496U, 720U, 7168U})
        for (uint32_t topk : {1U, 2U, 6U, 7U, 16U})
            run_both({2, 3, topk, 16, hidden, 5}, 2);
}

// Everything smaller than the maxima, then the maxima again, with no barrier between.
TEST(smaller_than_the_maxima) {
    const CommunicatorLimits limits{2, 40, 1040, 8, 240, 0};
    for (const char* policy : {"fast", "sim"}) {
        for (uint32_t e = 0; e < 2; ++e) {
            WorldOptions options;
            options.limits = limits;
            options.engine = engine_of(e);
            options.policy = policy;
            options.queue_depth = 4;
            run_world(options, [&](RankMachine& rank) {
                // dispatch's check uses attributes(moe_expert_num = limits): hidden, top-k and tokens vary here.
                const uint32_t hiddens[] = {1040, 64, 80, 480, 1024}, topks[] = {8, 1, 3, 7}, tokens[] = {40, 1, 0, 17};
                for (uint32_t round = 0; round < 20; ++round) {
                    const Case c{2,
                                 tokens[round % 4],
                                 topks[(round / 2) % 4],
                                 240,
                                 hiddens[round % 5],
                                 8,
                                 round % 3 == 0 ? Routing::kHoles : Routing::kUniform,
                                 options.engine,
                                 4,
                                 round % 2 == 0};
                    check_round(rank, c, round);
                }
            });
        }
    }
}

TEST(tensors_at_any_element) {
    for (uint32_t shift = 1; shift < 9; ++shift) {
        for (const char* policy : {"fast", "sim"}) {
            const Case c{2, 7, 3, 8, 80, 8, Routing::kUniform, engine_of(shift)};
            run_world(world_of(c, policy), [&](RankMachine& rank) {
                Batch batch = make_batch(c, rank.rank(), 1);
                const DispatchResult plain = rank.dispatch(batch);
                const CombineResult sum = rank.combine(batch, plain, plain.expand_x);
                batch.shift = shift;
                const DispatchResult d = rank.dispatch(batch);
                CHECK_EQ(d.outcome.code, Code::kOk);
                CHECK(d.expand_x == plain.expand_x);
                const CombineResult r = rank.combine(batch, d, d.expand_x);
                CHECK_EQ(r.outcome.code, Code::kOk);
                CHECK(r.x == sum.x);
            });
        }
    }
}

TEST(largest_batch) {
    for (uint32_t experts : {16U, 1024U}) {
        const Case c{1, 8192, 16, experts, 64, 72};
        run_world(world_of(c, "fast"), [&](RankMachine& rank) { check_round(rank, c, 0); });
    }
    const Case two{2, 8192, 2, 1024, 64, 24, Routing::kUniform, CombineEngine::kUrma, 64};
    run_world(world_of(two, "fast"), [&](RankMachine& rank) { check_round(rank, two, 0); });
}

}  // namespace
}  // namespace ascend_deepep::test
