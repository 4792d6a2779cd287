// SPDX-License-Identifier: Apache-2.0
// Rules of SIMT functions: each one broken, and its legal neighbour.
// Layer: tests. A test is called rule_ and the rule's name.
#include <unistd.h>

#include <cstdio>
#include <string>

#include "tests/cpp/twin/kernel_fixture.h"

namespace ascend_deepep::twin_test {

template <auto function, typename... Args>
static void call(uint32_t threads, Args... args) {
    asc_vf_call<function>(dim3(threads), args...);
    AscendC::PipeBarrier<PIPE_ALL>();
}

__simt_vf__ inline void nothing(uint32_t) {}
__simt_vf__ __launch_bounds__(64) inline void at_most_64(uint32_t) {}
__simt_vf__ __launch_bounds__(512) inline void at_most_512(uint32_t) {}
__simt_vf__ __launch_bounds__(2048) inline void at_most_2048(uint32_t) {}

TEST(rule_simt_threads) {
    CHECK_FAULT(rules::kSimtThreads, call<at_most_2048>(2049, 0u));
    CHECK_FAULT(rules::kSimtThreads, call<at_most_2048>(0, 0u));
    run_kernel([] { call<at_most_2048>(2048, 0u); });
}

TEST(rule_launch_bounds) {
    CHECK_FAULT(rules::kLaunchBounds, call<nothing>(1025, 0u));
    CHECK_FAULT(rules::kLaunchBounds, call<at_most_64>(96, 0u));
    CHECK_FAULT(rules::kLaunchBounds, call<at_most_512>(1024, 0u));
    run_kernel([] {
        call<nothing>(1024, 0u);
        call<at_most_64>(64, 0u);
        call<at_most_512>(512, 0u);
    });
}

__simt_vf__ inline void takes_26_words(__gm__ uint64_t*, __gm__ uint64_t*, __gm__ uint64_t*, __gm__ uint64_t*,
                                       __gm__ uint64_t*, __gm__ uint64_t*, uint64_t, uint64_t, uint64_t, uint64_t,
                                       uint64_t, uint64_t, uint32_t, uint8_t) {}
__simt_vf__ inline void takes_27_words(__gm__ uint64_t*, __gm__ uint64_t*, __gm__ uint64_t*, __gm__ uint64_t*,
                                       __gm__ uint64_t*, __gm__ uint64_t*, uint64_t, uint64_t, uint64_t, uint64_t,
                                       uint64_t, uint64_t, uint32_t, uint8_t, float) {}

// What body writes to stderr.
template <typename Body>
static std::string stderr_of(Body body) {
    std::FILE* file = std::tmpfile();
    std::fflush(stderr);
    const int kept = ::dup(STDERR_FILENO);
    ::dup2(::fileno(file), STDERR_FILENO);
    body();
    std::fflush(stderr);
    ::dup2(kept, STDERR_FILENO);
    ::close(kept);
    std::rewind(file);
    std::string text(4096, '\0');
    text.resize(std::fread(text.data(), 1, text.size(), file));
    std::fclose(file);
    return text;
}

// A warning: the device takes such calls too.
TEST(rule_vf_argument_words) {
    using P = uint64_t*;
    const std::string quiet = stderr_of([] {
        run_kernel([] {
            call<takes_26_words>(1, P{}, P{}, P{}, P{}, P{}, P{}, 0ul, 0ul, 0ul, 0ul, 0ul, 0ul, 0u, uint8_t{0});
        });
    });
    CHECK_EQ(quiet, "");
    const std::string warning = stderr_of([] {
        for (int i = 0; i < 3; ++i) {
            run_kernel([] {
                call<takes_27_words>(1, P{}, P{}, P{}, P{}, P{}, P{}, 0ul, 0ul, 0ul, 0ul, 0ul, 0ul, 0u, uint8_t{0},
                                     1.0f);
            });
        }
    });
    const std::string mark = std::string("[") + rules::kVfArgumentWords.name + "]";
    const size_t at = warning.find(mark);
    CHECK(at != std::string::npos);
    CHECK(warning.find(mark, at + 1) == std::string::npos);  // once
    CHECK(warning.find("takes_27_words>") < at);
    CHECK(warning.find("(got 27, limit 26)") != std::string::npos);
}

__simt_vf__ inline void leave_early(uint32_t) {
    if (threadIdx.x == 3) {
        return;
    }
    asc_syncthreads();
}
__simt_vf__ inline void one_barrier_less(uint32_t) {
    asc_syncthreads();
    if (threadIdx.x != 0) {
        asc_syncthreads();
    }
}
__simt_vf__ inline void two_barriers(uint32_t) {
    asc_syncthreads();
    asc_syncthreads();
}

TEST(rule_divergent_barrier) {
    CHECK_FAULT(rules::kDivergentBarrier, call<leave_early>(64, 0u));
    CHECK_FAULT(rules::kDivergentBarrier, call<one_barrier_less>(64, 0u));
    run_kernel([] { call<two_barriers>(64, 0u); });
}

__simt_vf__ inline void half_warp_votes(uint32_t) {
    if (threadIdx.x % 32 < 16) {
        asc_ballot(1);
    }
    asc_syncthreads();
}
__simt_vf__ inline void two_sites(uint32_t) {
    if (threadIdx.x % 2 == 0) {
        asc_ballot(1);
    } else {
        asc_ballot(1);
    }
}
__simt_vf__ inline void one_site(uint32_t) {
    asc_ballot(threadIdx.x % 2 == 0 ? 1 : 0);
}

TEST(rule_divergent_collective) {
    CHECK_FAULT(rules::kDivergentCollective, call<half_warp_votes>(32, 0u));
    CHECK_FAULT(rules::kDivergentCollective, call<two_sites>(32, 0u));
    run_kernel([] { call<one_site>(32, 0u); });
}

__simt_vf__ inline void shuffle_in(int32_t width) {
    asc_shfl(1, 0, width);
}

TEST(rule_shuffle_width) {
    CHECK_FAULT(rules::kShuffleWidth, call<shuffle_in>(32, 3));
    CHECK_FAULT(rules::kShuffleWidth, call<shuffle_in>(32, 64));
    CHECK_FAULT(rules::kShuffleWidth, call<shuffle_in>(32, 0));
    run_kernel([] { call<shuffle_in>(32, 16); });
}

template <typename T>
__simt_vf__ inline void add_one(T* word) {
    asc_atomic_add(word, T{1});
}

TEST(rule_atomic_memory) {
    GmArray<uint64_t, 4> gm;
    CHECK_FAULT(rules::kAtomicMemory, Scratch<uint64_t> s(8); call<add_one<uint64_t>>(1, s.data()));
    run_kernel([&] {
        Scratch<uint32_t> scratch(8);
        scratch.tensor.SetValue(0, 0u);
        call<add_one<uint32_t>>(4, scratch.data());
        CHECK_EQ(scratch.tensor.GetValue(0), 4u);
        call<add_one<uint64_t>>(5, gm.values);
    });
    CHECK_EQ(gm.values[0], 5u);
}

__simt_vf__ inline void yielding(uint32_t) {
    port::poll_pause();
}

TEST(rule_simt_never_waits) {
    CHECK_FAULT(rules::kSimtNeverWaits, call<yielding>(1, 0u));
}

TEST(rule_simt_code_only) {
    CHECK_FAULT(rules::kSimtCodeOnly, asc_syncthreads());
    CHECK_FAULT(rules::kSimtCodeOnly, asc_ballot(1));
    CHECK_FAULT(rules::kSimtCodeOnly, laneid());
}

#if !defined(__SANITIZE_ADDRESS__)
// Under AddressSanitizer its own redzones stand there.
template <uint32_t kBytes>
__simt_vf__ inline void fill_stack(__ubuf__ uint8_t* out) {
    volatile uint8_t array[kBytes];
    for (uint32_t i = 0; i < kBytes; ++i) {
        array[i] = static_cast<uint8_t>(i);
    }
    out[0] = array[kBytes / 2];
}

TEST(rule_simt_stack) {
    constexpr uint32_t kOver = twin::kSimtStackBytes - 64;
    constexpr uint32_t kUnder = twin::kSimtStackBytes / 2;
    CHECK_FAULT(rules::kSimtStack, Scratch<uint8_t> s(32); call<fill_stack<kOver>>(1, s.data()));
    run_kernel([] {
        Scratch<uint8_t> scratch(32);
        call<fill_stack<kUnder>>(1, scratch.data());
    });
}
#endif

}  // namespace ascend_deepep::twin_test
