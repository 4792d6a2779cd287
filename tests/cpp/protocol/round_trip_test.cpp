// SPDX-License-Identifier: Apache-2.0
// dispatch_v2 and combine_v2 through all roles, bitwise against plain loops, in both policies. Layer: tests.
#include "rounds.h"

namespace ascend_deepep::test {
namespace {

void run_case(const Case& c, uint32_t rounds = 3) {
    for (const char* policy : {"fast", "sim"}) {
        run_world(world_of(c, policy), [&](RankMachine& rank) {
            for (uint32_t round = 0; round < rounds; ++round)
                check_round(rank, c, round);
        });
    }
}

constexpr CombineEngine kUrma = CombineEngine::kUrma;

// FNV-1a over the bits of a fixed 2-rank round. Every architecture must come to the same number.
uint64_t add_to_hash(uint64_t hash, const void* data, size_t bytes) {
    for (size_t i = 0; i < bytes; ++i)
        hash = (hash ^ static_cast<const uint8_t*>(data)[i]) * 0x100000001B3ULL;
    return hash;
}

Batch golden_batch(uint32_t rank) {
    Batch batch;
    batch.num_tokens = batch.max_tokens = 11;
    batch.hidden = 80;
    batch.num_topk = 3;
    for (uint32_t token = 0; token < batch.num_tokens; ++token) {
        for (uint32_t column = 0; column < 3; ++column) {
            const bool is_hole = (token + column + rank) % 5 == 0;
            batch.expert_ids.push_back(is_hole ? -1 : static_cast<int32_t>((token * 5 + column * 3 + rank) % 8));
            batch.scales.push_back(1.0F / static_cast<float>(3 + token + 2 * column));
        }
        for (uint32_t h = 0; h < batch.hidden; ++h) {
            batch.x.push_back(bf16_bits(static_cast<float>((37 * rank + 11 * token + h * h) % 61) / 7.0F - 4.0F));
        }
    }
    return batch;
}

TEST(a_fixed_round_has_the_same_bits_everywhere) {
    uint64_t hashes[2] = {};
    run_world(world_of({2, 11, 3, 8, 80, 8}, "fast"), [&](RankMachine& rank) {
        const Batch batch = golden_batch(rank.rank());
        const DispatchResult got = rank.dispatch(batch);
        const CombineResult combined = rank.combine(batch, got, got.expand_x);
        uint64_t hash = 0xCBF29CE484222325ULL;
        hash = add_to_hash(hash, got.expand_x.data(), size_t{got.outcome.num_rows} * batch.hidden * 2);
        hash = add_to_hash(hash, got.assist_info.data(), size_t{got.outcome.num_rows} * 12);
        hash = add_to_hash(hash, got.ep_recv_counts.data(), got.ep_recv_counts.size() * 4);
        hashes[rank.rank()] = add_to_hash(hash, combined.x.data(), combined.x.size() * 2);
    });
    CHECK_EQ(hashes[0], 10909794746748222441ULL);
    CHECK_EQ(hashes[1], 15497609154025480364ULL);
}

TEST(one_rank) {
    run_case({1, 5, 2, 4, 64, 4});
}
TEST(two_ranks) {
    run_case({2, 7, 2, 4, 1024, 8});
}
TEST(three_ranks_with_holes) {
    run_case({3, 33, 4, 12, 80, 13, Routing::kHoles});
}
TEST(four_ranks_urma_combine) {
    run_case({4, 16, 8, 32, 1040, 24, Routing::kUniform, kUrma});
}
TEST(small_ring_wraps) {
    run_case({2, 40, 2, 4, 64, 5, Routing::kUniform, kUrma, 4}, 6);
}
// More builders than peers; and numbers of queues that do not divide the copies or the staging slots.
TEST(small_rings_wrap_with_several_queues) {
    for (uint32_t queues = 2; queues <= kMaxQueuesPerPeer; ++queues) {
        run_case({2, 40, 2, 4, 64, 5, Routing::kUniform, kUrma, 4, false, queues}, 4);
        run_case({3, 29, 3, 6, 64, 24, Routing::kHoles, kUrma, 4, true, queues}, 4);
        run_case({4, 50, 2, 8, 80, 13, Routing::kOneHot, CombineEngine::kMte, 4, false, queues}, 3);
    }
}
TEST(one_hot) {
    run_case({4, 20, 2, 8, 128, 7, Routing::kOneHot});
}
TEST(no_live_choice) {
    run_case({2, 6, 2, 4, 64, 4, Routing::kNone});
}
TEST(no_tokens_at_all) {
    run_case({3, 0, 2, 6, 64, 4});
}
TEST(uneven_tokens) {
    run_case({4, 12, 3, 8, 256, 8, Routing::kUniform, kUrma, 64, true});
}
TEST(many_cores_few_tokens) {
    run_case({2, 3, 1, 2, 64, 72});
}
TEST(control_messages_of_several_blocks) {
    run_case({2, 9, 16, 1024, 64, 8});
}
TEST(large_rows_in_tiles) {
    run_case({2, 4, 16, 32, 8192, 8});
}

}  // namespace
}  // namespace ascend_deepep::test
