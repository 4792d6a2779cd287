// SPDX-License-Identifier: Apache-2.0
// Rules of the scalar unit, of words of GM, and of a launch: each one broken, and its legal neighbour.
// Layer: tests. A test is called rule_ and the rule's name.
#include "simt_api/asc_simt.h"
#include "tests/cpp/twin/kernel_fixture.h"
#include "twin/runtime/polling.h"

namespace ascend_deepep::twin_test {

using AscendC::ReadGmByPassDCache;
using AscendC::WriteGmByPassDCache;

template <auto function, typename... Args>
static void call(uint32_t threads, Args... args) {
    asc_vf_call<function>(dim3(threads), args...);
    AscendC::PipeBarrier<PIPE_ALL>();
}

__simt_vf__ inline void load_hinted(__gm__ uint64_t* word) {
    asc_ldcg(word);
}
__simt_vf__ inline void store_hinted(__gm__ uint64_t* word) {
    asc_stcg(word, uint64_t{1});
}
__simt_vf__ inline void add(__gm__ uint64_t* word) {
    asc_atomic_add(word, uint64_t{1});
}

TEST(rule_gm_only) {
    CHECK_FAULT(rules::kGmOnly, Scratch<uint32_t> s(8); AscendC::AtomicAdd(s.data(), 1u));
    CHECK_FAULT(rules::kGmOnly, Scratch<uint32_t> s(8); ReadGmByPassDCache(s.data()));
    CHECK_FAULT(rules::kGmOnly, Scratch<uint32_t> s(8); WriteGmByPassDCache(s.data(), 1u));
    CHECK_FAULT(rules::kGmOnly, Scratch<uint64_t> s(8); call<load_hinted>(1, s.data()));
    CHECK_FAULT(rules::kGmOnly, Scratch<uint64_t> s(8); call<store_hinted>(1, s.data()));
}

TEST(rule_word_alignment) {
    GmArray<uint64_t, 8> words;
    const auto at = [&](uint32_t byte) {
        return reinterpret_cast<uint64_t*>(reinterpret_cast<uint8_t*>(words.values) + byte);
    };
    CHECK_FAULT(rules::kWordAlignment, ReadGmByPassDCache(at(4)));
    CHECK_FAULT(rules::kWordAlignment, WriteGmByPassDCache(at(4), uint64_t{1}));
    CHECK_FAULT(rules::kWordAlignment, AscendC::AtomicAdd(at(4), uint64_t{1}));
    CHECK_FAULT(rules::kWordAlignment, call<load_hinted>(1, at(4)));
    CHECK_FAULT(rules::kWordAlignment, call<store_hinted>(1, at(4)));
    CHECK_FAULT(rules::kWordAlignment, call<add>(1, at(4)));
    run_kernel([&] {
        CHECK_EQ(ReadGmByPassDCache(at(8)), 0u);
        call<add>(3, at(8));
    });
    CHECK_EQ(words.values[1], 3u);
}

// Copies are checked under both policies, words under Sim.
TEST(rule_gm_known_range) {
    GmArray<uint32_t, 64> gm;
    TestHooks hooks;
    hooks.forbidden = reinterpret_cast<const uint8_t*>(gm.values + 40);
    const auto load = [&](uint32_t count) {
        Scratch<uint32_t> scratch(64);
        AscendC::DataCopy(scratch.tensor, gm.tensor(), count);
    };
    const auto store = [&](uint32_t count) {
        Scratch<uint32_t> scratch(64);
        AscendC::DataCopyPad(gm.tensor(), scratch.tensor, AscendC::DataCopyExtParams{2, count * 4, 0, 64, 0});
    };
    CHECK_REFUSED(rules::kGmKnownRange, run_kernel([&] { load(48); }, 1, &hooks));
    CHECK_REFUSED(rules::kGmKnownRange, run_kernel([&] { store(16); }, 1, &hooks));
    run_kernel([&] { load(40); }, 1, &hooks);
    run_kernel([&] { store(8); }, 1, &hooks);
    const auto read = [&] { run_kernel([&] { ReadGmByPassDCache(gm.values + 40); }, 1, &hooks); };
    if (kIsSim) {
        CHECK_REFUSED(rules::kGmKnownRange, read());
    } else {
        read();
    }
}

// Three windows of 64 words; the middle one is the own one.
struct WindowWords {
    GmArray<uint64_t, 192> words;
    TestHooks hooks;
    WindowWords() { hooks.windows = {words.values, sizeof(words.values), words.values + 64, 512}; }
    template <typename Body>
    void run(Body body) {
        run_kernel([&] { body(words.values); }, 1, &hooks);
    }
};

TEST(rule_window_range) {
    WindowWords w;
    w.hooks.windows.own_bytes = 508;  // half a word at its end
    CHECK_REFUSED(rules::kWindowRange, w.run([](uint64_t* words) { ReadGmByPassDCache(words + 127); }));
    CHECK_REFUSED(rules::kWindowRange, w.run([](uint64_t* words) { WriteGmByPassDCache(words + 127, uint64_t{1}); }));
    w.run([](uint64_t* words) { CHECK_EQ(ReadGmByPassDCache(words + 126), 0u); });
}

TEST(rule_peer_window) {
    WindowWords w;
    CHECK_REFUSED(rules::kPeerWindow, w.run([](uint64_t* words) { ReadGmByPassDCache(words + 63); }));
    CHECK_REFUSED(rules::kPeerWindow, w.run([](uint64_t* words) { WriteGmByPassDCache(words + 128, uint64_t{1}); }));
    CHECK_REFUSED(rules::kPeerWindow, w.run([](uint64_t* words) { AscendC::AtomicAdd(words + 191, uint64_t{1}); }));
    CHECK_REFUSED(rules::kPeerWindow, w.run([](uint64_t* words) { call<load_hinted>(1, words); }));
    CHECK_REFUSED(rules::kPeerWindow, w.run([](uint64_t* words) { call<store_hinted>(1, words + 128); }));
    CHECK_REFUSED(rules::kPeerWindow, w.run([](uint64_t* words) { call<add>(1, words + 128); }));
    CHECK_REFUSED(rules::kPeerWindow, w.run([](uint64_t* words) {
        AscendC::GlobalTensor<uint64_t> tensor;
        tensor.SetGlobalBuffer(words);
        tensor.SetValue(0, uint64_t{1});
    }));
    GmArray<uint64_t, 4> elsewhere;
    w.run([&](uint64_t* words) {
        WriteGmByPassDCache(words + 64, uint64_t{7});
        AscendC::AtomicAdd(words + 127, uint64_t{2});
        CHECK_EQ(ReadGmByPassDCache(elsewhere.values), 0u);
    });
    CHECK_EQ(w.words.values[64] + w.words.values[127], 9u);
}

__simt_vf__ inline void spin(__gm__ uint64_t* word) {
    while (asc_ldcg(word) == 0) {
    }
}

TEST(rule_poll_outside_wait) {
    GmArray<uint64_t, 64> words;
    uint64_t* flag = words.values;
    const auto tensor = words.tensor();
    CHECK_FAULT(rules::kPollOutsideWait, while (ReadGmByPassDCache(flag) == 0){});
    CHECK_FAULT(rules::kPollOutsideWait, while (tensor.GetValue(0) == 0){});
    CHECK_FAULT(rules::kPollOutsideWait, while (AscendC::AtomicCas(flag, uint64_t{1}, uint64_t{2}) == 0){});
    CHECK_FAULT(rules::kPollOutsideWait, call<spin>(1, flag));
    CHECK_FAULT(
        rules::kPollOutsideWait, Scratch<uint64_t> s(4); for (;;) {
            AscendC::DataCopy(s.tensor, tensor, 4);
            sync<AscendC::HardEvent::MTE2_S>();
        });
    // A few words in turn are a poll as well.
    CHECK_FAULT(
        rules::kPollOutsideWait, for (;;) {
            for (uint32_t i = 0; i < 3; ++i) {
                ReadGmByPassDCache(flag + i);
            }
        });
    try {
        run_kernel([&] {
            while (ReadGmByPassDCache(flag) == 0) {
            }
        });
    } catch (const KernelFault& fault) {
        CHECK_EQ(fault.core(), 0);
        CHECK(fault.info().address == flag);
        CHECK_EQ(fault.info().value, uint64_t{twin::kMaxLooks} + 1);
    }
}

TEST(what_is_no_poll_outside_wait) {
    GmArray<uint64_t, 64> words;
    run_kernel([&] {
        // Gives way now and then; reads a word that changes; walks through memory.
        for (uint32_t i = 0; i < 3 * (twin::kMaxLooks / 2); ++i) {
            ReadGmByPassDCache(words.values);
            if (i % (twin::kMaxLooks / 2) == 0) {
                port::poll_pause();
            }
        }
        for (uint32_t i = 0; i < twin::kMaxLooks + 10; ++i) {
            AscendC::AtomicAdd(words.values, uint64_t{1});
        }
        for (uint32_t i = 0; i < twin::kMaxLooks + 10; ++i) {
            ReadGmByPassDCache(words.values + i % 64);
        }
    });
}

TEST(rule_ctrl_restored) {
    CHECK_FAULT(rules::kCtrlRestored, (AscendC::SetCtrlSpr<48, 48>(1)));
    CHECK_FAULT(rules::kCtrlRestored, (AscendC::SetCtrlSpr<60, 60>(0)));
    run_kernel([] {
        const int64_t before = AscendC::GetCtrlSpr<60, 60>();
        AscendC::SetCtrlSpr<60, 60>(0);
        AscendC::SetCtrlSpr<60, 60>(before);
        AscendC::SetCtrlSpr<48, 48>(1);
        AscendC::ResetCtrlSpr<48, 48>();
    });
}

__simt_vf__ inline void ask_for_core(uint32_t) {
    AscendC::GetBlockIdx();
}
__simt_vf__ inline void ask_for_cores(uint32_t) {
    AscendC::GetBlockNum();
}
__simt_vf__ inline void read_past_cache(__gm__ uint64_t* word) {
    ReadGmByPassDCache(word);
}
__simt_vf__ inline void set_flag(uint32_t) {
    AscendC::SetFlag<AscendC::HardEvent::V_S>(0);
}
__simt_vf__ inline void barrier_of_pipes(uint32_t) {
    AscendC::PipeBarrier<PIPE_ALL>();
}
__simt_vf__ inline void pipe_pointer(uint32_t) {
    GetTPipePtr();
}
__simt_vf__ inline void fill(uint32_t) {
    AscendC::LocalTensor<uint32_t> tensor;
    AscendC::Duplicate(tensor, 1u, 8);
}
__simt_vf__ inline void call_another(uint32_t) {
    asc_vf_call<ask_for_core>(dim3(1), 0u);
}

TEST(rule_scalar_code_only) {
    GmArray<uint64_t, 8> words;
    CHECK_FAULT(rules::kScalarCodeOnly, call<ask_for_core>(1, 0u));
    CHECK_FAULT(rules::kScalarCodeOnly, call<ask_for_cores>(1, 0u));
    CHECK_FAULT(rules::kScalarCodeOnly, call<read_past_cache>(1, words.values));
    CHECK_FAULT(rules::kScalarCodeOnly, call<set_flag>(1, 0u));
    CHECK_FAULT(rules::kScalarCodeOnly, call<barrier_of_pipes>(1, 0u));
    CHECK_FAULT(rules::kScalarCodeOnly, Scratch<uint32_t> s(8); call<pipe_pointer>(1, 0u));
    CHECK_FAULT(rules::kScalarCodeOnly, call<fill>(1, 0u));
    CHECK_FAULT(rules::kScalarCodeOnly, call<call_another>(1, 0u));
}

TEST(rule_launch_cores) {
    CHECK_REFUSED(rules::kLaunchCores, run_kernel([] {}, 0));
    CHECK_REFUSED(rules::kLaunchCores, run_kernel([] {}, 129));
    run_kernel([] {}, 128);
}

TEST(rule_nested_launch) {
    CHECK_FAULT(rules::kNestedLaunch, run_kernel([] {}));
}

#if !defined(__SANITIZE_ADDRESS__)
// Under AddressSanitizer its own redzones stand there.
TEST(rule_core_stack) {
    const auto fill_stack = [](size_t bytes) {
        auto* array = static_cast<volatile uint8_t*>(__builtin_alloca(bytes));
        for (size_t i = 0; i < bytes; ++i) {
            array[i] = static_cast<uint8_t>(i);
        }
    };
    CHECK_FAULT(rules::kCoreStack, fill_stack(twin::core_stack_bytes() - 64));
    run_kernel([&] { fill_stack(twin::core_stack_bytes() / 2); });
}
#endif

}  // namespace ascend_deepep::twin_test
