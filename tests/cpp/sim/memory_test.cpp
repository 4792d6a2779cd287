// SPDX-License-Identifier: Apache-2.0
// The simulator's memory, rule by rule: what another core may see when a kernel lacks a barrier, a fence or a cache
// operation, that it never sees it with them, and never with the rule dropped. Layer: tests.
#include <functional>

#include "check.h"
#include "kernel_operator.h"
#include "op_kernel/port/port.h"
#include "simt_api/asc_simt.h"
#include "twin/sim/world.h"

namespace ascend_deepep::test {
namespace {

using AscendC::DataCacheCleanAndInvalid;
using AscendC::HardEvent;
using sim::Assumptions;

constexpr uint64_t kSeeds = 120;
constexpr uint32_t kFar = 64;  // words between two lines of either cache, with room

// Two cores of one rank on words of the workspace.
struct Shared {
    std::function<void(Shared&)> first, second;  // what core 0 and core 1 do
    uint64_t* words;
    uint64_t got[2];
    std::function<void(Shared&)> after;  // the host, when the launch has ended

    uint64_t* data() { return words; }
    uint64_t* flag() { return words + 4 * kFar; }
};

uint64_t load(uint64_t* word) {
    return AscendC::ReadGmByPassDCache<uint64_t>(word);
}
void store(uint64_t* word, uint64_t value) {
    AscendC::WriteGmByPassDCache<uint64_t>(word, value);
}
void barrier() {
    AscendC::DataSyncBarrier<AscendC::MemDsbT::DDR>();
}
void raise_flag(Shared& shared) {
    barrier();
    store(shared.flag(), 1);
}
void await_flag(Shared& shared) {
    while (load(shared.flag()) == 0)
        port::poll_pause();
}
AscendC::GlobalTensor<uint64_t> tensor(uint64_t* words) {
    AscendC::GlobalTensor<uint64_t> result;
    result.SetGlobalBuffer(words, kFar);
    return result;
}
void clean(uint64_t* words) {
    DataCacheCleanAndInvalid<uint64_t, AscendC::CacheLine::SINGLE_CACHE_LINE, AscendC::DcciDst::CACHELINE_OUT>(
        tensor(words));
}
void wait_for_simt() {
    AscendC::SetFlag<HardEvent::V_S>(EVENT_ID0);
    AscendC::WaitFlag<HardEvent::V_S>(EVENT_ID0);
}

void clear_words(uint8_t* tiling) {
    auto& shared = *reinterpret_cast<Shared*>(tiling);
    for (uint32_t word = 0; word < 8 * kFar && AscendC::GetBlockIdx() == 0; ++word)
        store(shared.words + word, 0);
}

void two_cores(uint8_t* tiling) {
    auto& shared = *reinterpret_cast<Shared*>(tiling);
    (AscendC::GetBlockIdx() == 0 ? shared.first : shared.second)(shared);
}

// What the two cores got in one world.
Shared run(uint64_t seed, const Assumptions& assumptions, const Shared& program) {
    sim::WorldConfig config{};
    config.limits = {2, 16, 64, 2, 4, 0};
    config.num_cores = 2;
    config.tag_base = uint64_t{7} << 32;
    config.timeout_ns = 1000000;
    config.seed = seed;
    config.assumptions = assumptions;
    sim::World world(config);
    Shared shared = program;
    world.host(0, [&](sim::SimRank& rank) {
        shared.words = reinterpret_cast<uint64_t*>(rank.workspace());
        rank.launch("clear", &clear_words, &shared, {});
        rank.launch("program", &two_cores, &shared, {});
        shared.after(shared);
    });
    world.run();
    for (const sim::Finding& finding : world.findings().all())
        check::fail(__FILE__, __LINE__, "seed " + std::to_string(seed) + " [" + finding.checker + "] " + finding.what);
    return shared;
}

// In how many worlds core `core` got something else than `wanted`.
uint64_t differ(const Shared& program, uint64_t wanted, uint32_t core = 1, const Assumptions& assumptions = {}) {
    uint64_t count = 0;
    for (uint64_t seed = 1; seed <= kSeeds; ++seed)
        count += run(seed, assumptions, program).got[core] != wanted ? 1 : 0;
    return count;
}

Assumptions without(bool Assumptions::* field) {
    Assumptions assumptions;
    assumptions.*field = false;
    return assumptions;
}

void nothing(Shared&) {}

void read_data(Shared& shared) {
    await_flag(shared);
    shared.got[1] = load(shared.data());
}

TEST(posted_stores_overtake_each_other_until_a_barrier) {
    const Shared bare{[](Shared& s) {
                          store(s.data(), 7);
                          store(s.flag(), 1);
                      },
                      read_data,
                      nullptr,
                      {},
                      nothing};
    CHECK(differ(bare, 7) > 0);
    CHECK_EQ(differ(bare, 7, 1, without(&Assumptions::posted_stores)), uint64_t{0});
    const Shared ordered{[](Shared& s) {
                             store(s.data(), 7);
                             raise_flag(s);
                         },
                         read_data,
                         nullptr,
                         {},
                         nothing};
    CHECK_EQ(differ(ordered, 7), uint64_t{0});
}

TEST(an_atomic_overtakes_posted_stores_to_other_words) {
    const Shared bare{[](Shared& s) {
                          store(s.data(), 7);
                          AscendC::AtomicAdd(s.flag(), uint64_t{1});
                      },
                      read_data,
                      nullptr,
                      {},
                      nothing};
    CHECK(differ(bare, 7) > 0);
    CHECK_EQ(differ(bare, 7, 1, without(&Assumptions::posted_stores)), uint64_t{0});
}

TEST(a_core_sees_its_own_posted_stores) {
    const Shared program{[](Shared& s) {
                             store(s.data(), ~uint64_t{0});
                             store(s.data(), 40);
                             auto* half = reinterpret_cast<uint32_t*>(s.data());
                             AscendC::WriteGmByPassDCache<uint32_t>(half + 1, 1);
                             s.got[0] = load(s.data()) + AscendC::ReadGmByPassDCache<uint32_t>(half);
                             s.got[0] += AscendC::AtomicAdd(s.data(), uint64_t{5});
                         },
                         nothing,
                         nullptr,
                         {},
                         nothing};
    constexpr uint64_t kWord = (uint64_t{1} << 32) + 40;
    CHECK_EQ(differ(program, kWord + 40 + kWord, 0), uint64_t{0});
}

// S_MTE2 orders the pipes, and the manual asks for a DataSyncBarrier in front of it.
TEST(a_copy_does_not_see_posted_stores) {
    const auto program = [](bool has_barrier) {
        return Shared{[has_barrier](Shared& s) {
                          AscendC::TPipe pipe;
                          AscendC::TBuf<AscendC::TPosition::VECCALC> buffer;
                          pipe.InitBuffer(buffer, 64);
                          store(s.data(), 7);
                          if (has_barrier) barrier();
                          AscendC::SetFlag<HardEvent::S_MTE2>(EVENT_ID0);
                          AscendC::WaitFlag<HardEvent::S_MTE2>(EVENT_ID0);
                          AscendC::DataCopy(buffer.Get<uint64_t>(), tensor(s.data()), 4);
                          AscendC::SetFlag<HardEvent::MTE2_S>(EVENT_ID0);
                          AscendC::WaitFlag<HardEvent::MTE2_S>(EVENT_ID0);
                          s.got[0] = buffer.Get<uint64_t>().GetValue(0);
                      },
                      nothing,
                      nullptr,
                      {},
                      nothing};
    };
    CHECK(differ(program(false), 7, 0) > 0);
    CHECK_EQ(differ(program(true), 7, 0), uint64_t{0});
}

TEST(scalar_lines_grow_stale_until_they_are_cleaned) {
    const auto program = [](bool cleans) {
        return Shared{[](Shared& s) {
                          while (load(s.words + kFar) == 0)
                              port::poll_pause();
                          store(s.data(), 7);
                          raise_flag(s);
                      },
                      [cleans](Shared& s) {
                          s.got[1] = tensor(s.data()).GetValue(1);
                          store(s.words + kFar, 1);
                          await_flag(s);
                          if (cleans) clean(s.data());
                          s.got[1] += tensor(s.data()).GetValue(0);
                      },
                      nullptr,
                      {},
                      nothing};
    };
    CHECK(differ(program(false), 7) > 0);
    CHECK_EQ(differ(program(false), 7, 1, without(&Assumptions::scalar_cache)), uint64_t{0});
    CHECK_EQ(differ(program(true), 7), uint64_t{0});
}

// Each core stores 7 to a word of its own; the host looks at both afterwards.
TEST(lines_are_written_back_whole) {
    const auto program = [](uint32_t distance) {
        return Shared{[](Shared& s) { tensor(s.data()).SetValue(0, 7); },
                      [distance](Shared& s) { tensor(s.data() + distance).SetValue(0, 7); },
                      nullptr,
                      {},
                      [distance](Shared& s) { s.got[0] = s.words[0] + s.words[distance]; }};
    };
    CHECK(differ(program(1), 14, 0) > 0);
    CHECK_EQ(differ(program(1), 14, 0, without(&Assumptions::scalar_cache)), uint64_t{0});
    CHECK_EQ(differ(program(kFar), 14, 0), uint64_t{0});
}

__simt_vf__ inline void simt_store(__gm__ uint64_t* word, uint32_t has_fence) {
    asc_stcg(word, uint64_t{7});
    if (has_fence != 0) asc_threadfence();
}
__simt_vf__ inline void simt_store_twice(__gm__ uint64_t* word, __ubuf__ uint64_t* seen) {
    asc_stwt(word, uint64_t{6});
    asc_stcg(word, uint64_t{7});
    *seen = asc_ldcg(word) * 10 + asc_ldca(word);
}
__simt_vf__ inline void simt_load(__gm__ uint64_t* word, __ubuf__ uint64_t* seen, uint32_t how) {
    if (how == 2) asc_dcci_single(word);
    *seen = how == 1 ? asc_ldcg(word) : asc_ldca(word);
}

TEST(simt_stores_are_outstanding_until_a_fence) {
    const auto program = [](uint32_t has_fence) {
        return Shared{[has_fence](Shared& s) {
                          asc_vf_call<simt_store>(dim3(1), s.data(), has_fence);
                          wait_for_simt();
                          raise_flag(s);
                      },
                      read_data,
                      nullptr,
                      {},
                      nothing};
    };
    CHECK(differ(program(0), 7) > 0);
    CHECK_EQ(differ(program(0), 7, 1, without(&Assumptions::posted_simt_stores)), uint64_t{0});
    CHECK_EQ(differ(program(1), 7), uint64_t{0});
}

// A core with one word of UB for what its SIMT threads have seen.
struct Seen {
    AscendC::TPipe pipe;
    AscendC::TBuf<AscendC::TPosition::VECCALC> buffer;
    Seen() { pipe.InitBuffer(buffer, 32); }
    uint64_t* word() { return reinterpret_cast<uint64_t*>(buffer.Get<uint64_t>().GetPhyAddr()); }
};

TEST(simt_threads_see_their_own_stores) {
    const Shared program{[](Shared& s) {
                             Seen seen;
                             asc_vf_call<simt_store_twice>(dim3(1), s.data(), seen.word());
                             wait_for_simt();
                             s.got[0] = *seen.word();
                         },
                         nothing,
                         nullptr,
                         {},
                         nothing};
    CHECK_EQ(differ(program, 77, 0), uint64_t{0});
}

TEST(simt_lines_grow_stale_until_they_are_dropped) {
    const auto program = [](uint32_t how) {
        return Shared{[](Shared& s) {
                          while (load(s.words + kFar) == 0)
                              port::poll_pause();
                          store(s.data(), 7);
                          raise_flag(s);
                      },
                      [how](Shared& s) {
                          Seen seen;
                          asc_vf_call<simt_load>(dim3(1), s.data() + 1, seen.word(), 0U);
                          wait_for_simt();
                          store(s.words + kFar, 1);
                          await_flag(s);
                          asc_vf_call<simt_load>(dim3(1), s.data(), seen.word(), how);
                          wait_for_simt();
                          s.got[1] = *seen.word();
                      },
                      nullptr,
                      {},
                      nothing};
    };
    CHECK(differ(program(0), 7) > 0);
    CHECK_EQ(differ(program(0), 7, 1, without(&Assumptions::simt_cache)), uint64_t{0});
    CHECK_EQ(differ(program(1), 7), uint64_t{0});
    CHECK_EQ(differ(program(2), 7), uint64_t{0});
}

}  // namespace
}  // namespace ascend_deepep::test
