// SPDX-License-Identifier: Apache-2.0
// SIMT functions: indices, barriers, votes, shuffles, reductions, atomics, GM accesses.
// Layer: tests.
#include <numeric>

#include "tests/cpp/twin/kernel_fixture.h"

namespace ascend_deepep::twin_test {

template <auto function, typename... Args>
void call(uint32_t threads, Args... args) {
    asc_vf_call<function>(dim3(threads), args...);
    AscendC::PipeBarrier<PIPE_ALL>();
}

__simt_vf__ __launch_bounds__(2048) inline void write_indices(__ubuf__ uint32_t* out) {
    const uint32_t linear = threadIdx.x + threadIdx.y * blockDim.x + threadIdx.z * blockDim.x * blockDim.y;
    out[linear] = threadIdx.x | threadIdx.y << 8 | threadIdx.z << 16 | (blockIdx.x + gridDim.x) << 24;
}

TEST(indices_in_three_dimensions) {
    run_kernel(
        [] {
            Scratch<uint32_t> scratch(64);
            asc_vf_call<write_indices>(dim3(4, 3, 2), scratch.data());
            AscendC::PipeBarrier<PIPE_ALL>();
            for (uint32_t i = 0; i < 24; ++i) {
                const auto core = static_cast<uint32_t>(AscendC::GetBlockIdx());
                CHECK_EQ(scratch.data()[i], (i % 4) | (i / 4 % 3) << 8 | (i / 12) << 16 | (core + 2) << 24);
            }
        },
        2);
}

// Each round every thread reads its right neighbour's value of the round before: wrong without a real barrier.
__simt_vf__ __launch_bounds__(2048) inline void rotate(__ubuf__ uint32_t* a, uint32_t rounds) {
    for (uint32_t r = 0; r < rounds; ++r) {
        const uint32_t next = a[(threadIdx.x + 1) % blockDim.x];
        asc_syncthreads();
        a[threadIdx.x] = next;
        asc_syncthreads();
    }
}

TEST(barriers_at_many_widths) {
    for (uint32_t threads : {1u, 2u, 31u, 32u, 33u, 256u, 1024u, 2048u}) {
        run_kernel([threads] {
            Scratch<uint32_t> scratch(2048);
            std::iota(scratch.data(), scratch.data() + threads, 0u);
            call<rotate>(threads, scratch.data(), 3u);
            uint32_t wrong = 0;
            for (uint32_t i = 0; i < threads; ++i) {
                wrong += scratch.data()[i] != (i + 3) % threads;
            }
            CHECK_EQ(wrong, 0u);
        });
    }
}

__simt_vf__ inline void both_branches_meet(__ubuf__ uint32_t* out) {
    if (threadIdx.x % 2 == 0) {
        asc_syncthreads();
    } else {
        asc_syncthreads();
    }
    out[threadIdx.x] = 1;
}

TEST(barriers_meet_across_branches) {
    run_kernel([] {
        Scratch<uint32_t> scratch(64);
        call<both_branches_meet>(64, scratch.data());
        CHECK_EQ(std::accumulate(scratch.data(), scratch.data() + 64, 0u), 64u);
    });
}

__simt_vf__ __launch_bounds__(2048) inline void votes(__ubuf__ uint32_t* out) {
    const uint32_t ballot = asc_ballot(threadIdx.x % 3 == 0 ? 1 : 0);
    const int32_t all = asc_all(static_cast<int32_t>(threadIdx.x) + 1);
    const int32_t all_but_one = asc_all(threadIdx.x % 32 != 5 ? 1 : 0);
    const int32_t any = asc_any(threadIdx.x % 32 == 7 ? 1 : 0);
    const int32_t none = asc_any(0);
    __ubuf__ uint32_t* row = out + threadIdx.x * 4;
    row[0] = ballot;
    row[1] = static_cast<uint32_t>(all | all_but_one << 1 | any << 2 | none << 3);
    row[2] = asc_activemask();
    row[3] = static_cast<uint32_t>(laneid());
}

TEST(votes_of_full_and_partial_warps) {
    for (uint32_t threads : {40u, 1024u, 2048u}) {
        run_kernel([threads] {
            Scratch<uint32_t> scratch(2048 * 4);
            call<votes>(threads, scratch.data());
            uint32_t wrong = 0;
            for (uint32_t t = 0; t < threads; ++t) {
                const uint32_t first = t / 32 * 32;
                const uint32_t lanes = std::min(32u, threads - first);
                uint32_t ballot = 0;
                for (uint32_t l = 0; l < lanes; ++l) {
                    ballot |= static_cast<uint32_t>((first + l) % 3 == 0) << l;
                }
                const uint32_t mask = lanes == 32 ? ~0u : (1u << lanes) - 1;
                const uint32_t flags = 1u | (lanes > 5 ? 0u : 2u) | (lanes > 7 ? 4u : 0u);
                const uint32_t* row = scratch.data() + t * 4;
                wrong += row[0] != ballot || row[1] != flags || row[2] != mask || row[3] != t % 32;
            }
            CHECK_EQ(wrong, 0u);
        });
    }
}

__simt_vf__ inline void shuffles(__ubuf__ int64_t* out) {
    const auto lane = static_cast<int32_t>(threadIdx.x);
    const int64_t value = int64_t{lane} * 1000000007LL - 5;
    __ubuf__ int64_t* row = out + threadIdx.x * 8;
    row[0] = asc_shfl(value, 3);
    row[1] = asc_shfl(lane, 1, 8);
    row[2] = asc_shfl_up(lane, 2u);
    row[3] = asc_shfl_down(lane, 3u, 16);
    row[4] = asc_shfl_xor(lane, 5);
    row[5] = static_cast<int64_t>(asc_shfl(static_cast<float>(lane) * 0.5f, 31));
    row[6] = asc_reduce_add(lane);
    row[7] = asc_reduce_max(lane) * 100 + asc_reduce_min(lane);
}

TEST(shuffles_and_reductions) {
    run_kernel([] {
        Scratch<int64_t> scratch(32 * 8);
        call<shuffles>(32, scratch.data());
        for (int64_t lane = 0; lane < 32; ++lane) {
            const int64_t* row = scratch.data() + lane * 8;
            CHECK_EQ(row[0], int64_t{3} * 1000000007LL - 5);
            CHECK_EQ(row[1], lane / 8 * 8 + 1);
            CHECK_EQ(row[2], lane < 2 ? lane : lane - 2);
            CHECK_EQ(row[3], lane % 16 >= 13 ? lane : lane + 3);
            CHECK_EQ(row[4], lane ^ 5);
            CHECK_EQ(row[5], 15);
            CHECK_EQ(row[6], 496);
            CHECK_EQ(row[7], 3100);
        }
    });
}

__simt_vf__ __launch_bounds__(2048) inline void warp_scan(__ubuf__ uint32_t* out) {
    uint32_t sum = threadIdx.x;
    for (uint32_t step = 1; step < 32; step *= 2) {
        const uint32_t below = asc_shfl_up(sum, step);
        sum += threadIdx.x % 32 >= step ? below : 0;
    }
    out[threadIdx.x] = sum;
}

TEST(warp_scans_of_a_full_block) {
    run_kernel([] {
        Scratch<uint32_t> scratch(2048);
        call<warp_scan>(2048, scratch.data());
        uint32_t wrong = 0;
        uint32_t sum = 0;
        for (uint32_t t = 0; t < 2048; ++t) {
            sum = t % 32 == 0 ? t : sum + t;
            wrong += scratch.data()[t] != sum;
        }
        CHECK_EQ(wrong, 0u);
    });
}

__simt_vf__ inline void lanes_left(__ubuf__ uint32_t* out) {
    if (threadIdx.x % 4 != 1) {
        return;
    }
    out[threadIdx.x] = asc_ballot(1);
}
// Lanes 0..15 wait first; the others return afterwards, which completes the collective.
__simt_vf__ inline void last_lanes_leave(__ubuf__ uint32_t* out) {
    if (threadIdx.x >= 16) {
        return;
    }
    out[threadIdx.x] = asc_reduce_add(1u);
}

TEST(lanes_that_left_are_left_out) {
    run_kernel([] {
        Scratch<uint32_t> scratch(64);
        call<lanes_left>(64, scratch.data());
        CHECK_EQ(scratch.data()[33], 0x22222222u);
        call<last_lanes_leave>(32, scratch.data());
        CHECK_EQ(scratch.data()[15], 16u);
    });
}

__simt_vf__ inline void count(__ubuf__ uint32_t* ub, __gm__ uint64_t* gm, __gm__ float* sum) {
    asc_atomic_add(ub, 1u);
    asc_atomic_max(ub + 1, threadIdx.x);
    asc_atomic_inc(ub + 2, 9u);
    asc_atomic_add(gm, uint64_t{1} << 33);
    asc_atomic_or(gm + 1, uint64_t{1} << (threadIdx.x % 64));
    asc_atomic_cas(gm + 2, uint64_t{threadIdx.x}, uint64_t{threadIdx.x} + 1);
    asc_atomic_add(sum, 0.5f);
}

TEST(atomics_in_both_memories) {
    GmArray<uint64_t, 4> words;
    GmArray<float, 4> sums;
    run_kernel([&] {
        Scratch<uint32_t> scratch(8);
        std::fill_n(scratch.data(), 8, 0u);
        call<count>(1024, scratch.data(), words.values, sums.values);
        CHECK_EQ(scratch.data()[0], 1024u);
        CHECK_EQ(scratch.data()[1], 1023u);
        CHECK_EQ(scratch.data()[2], 1024u % 10);
    });
    CHECK_EQ(words.values[0], uint64_t{1024} << 33);
    CHECK_EQ(words.values[1], ~uint64_t{0});
    CHECK_EQ(words.values[2], 1024u);
    CHECK_EQ(sums.values[0], 512.0f);
}

__simt_vf__ inline void copy_words(__gm__ uint4* gm, __gm__ bfloat16_t* narrow) {
    if (threadIdx.x == 0) {
        const uint4 value = asc_ldcg(gm);
        asc_stcg(gm + 1, make_uint4(value.w, value.z, value.y, value.x));
        asc_stwt(narrow + 1, asc_ldca(narrow));
    }
}

TEST(gm_loads_and_stores) {
    GmArray<uint4, 2> gm;
    GmArray<bfloat16_t, 2> narrow;
    gm.values[0] = make_uint4(1, 2, 3, 4);
    narrow.values[0] = bfloat16_t(1.5f);
    run_kernel([&] { call<copy_words>(32, gm.values, narrow.values); });
    CHECK_EQ(gm.values[1].x, 4u);
    CHECK_EQ(gm.values[1].w, 1u);
    CHECK_EQ(static_cast<float>(narrow.values[1]), 1.5f);
}

TEST(bit_functions) {
    CHECK_EQ(__popc(0xf0f0u), 8);
    CHECK_EQ(__popc(~0ull), 64);
    CHECK_EQ(__clz(1), 31);
    CHECK_EQ(__clz(0), 32);
    CHECK_EQ(__ffs(0), 0);
    CHECK_EQ(__ffs(8), 4);
    CHECK_EQ(__umulhi(0x80000000u, 6u), 3u);
}

}  // namespace ascend_deepep::twin_test
