// SPDX-License-Identifier: Apache-2.0
// When work takes effect: Sim shows a missing flag as poison or stale data, Fast hides it. Both run every kernel.
// Layer: tests.
#include "tests/cpp/twin/kernel_fixture.h"

namespace ascend_deepep::twin_test {

using AscendC::DataCopy;
using AscendC::HardEvent;

constexpr uint32_t kPoisonWord = 0xCDCDCDCD;
constexpr uint32_t seen(uint32_t fast, uint32_t sim) {
    return kIsSim ? sim : fast;
}

struct Data {
    GmArray<uint32_t, 8> from;
    GmArray<uint32_t, 8> to;
    Data() {
        std::fill_n(from.values, 8, 5u);
        std::fill_n(to.values, 8, 0u);
    }
};

__simt_vf__ inline void add_one(__ubuf__ uint32_t* p) {
    p[threadIdx.x] += 1;
}

TEST(buffers_start_poisoned_under_sim) {
    run_kernel([] {
        Scratch<uint32_t> scratch(8);
        scratch.tensor.SetValue(0, 1);
    });
    run_kernel([] {
        Scratch<uint32_t> scratch(8);
        CHECK_EQ(scratch.tensor.GetValue(0), seen(1u, kPoisonWord));
    });
}

TEST(scalar_needs_mte2_s) {
    Data data;
    run_kernel([&] {
        Scratch<uint32_t> scratch(8);
        scratch.tensor.SetValue(0, kPoisonWord);
        DataCopy(scratch.tensor, data.from.tensor(), 8);
        CHECK_EQ(scratch.tensor.GetValue(0), seen(5u, kPoisonWord));
        AscendC::PipeBarrier<PIPE_MTE2>();  // orders MTE2 with itself; the scalar unit goes on
        CHECK_EQ(scratch.tensor.GetValue(0), seen(5u, kPoisonWord));
        sync<HardEvent::MTE2_V>();  // makes V wait, not the scalar unit
        CHECK_EQ(scratch.tensor.GetValue(0), seen(5u, kPoisonWord));
        sync<HardEvent::MTE2_S>();
        CHECK_EQ(scratch.tensor.GetValue(0), 5u);
    });
}

TEST(pipe_all_completes_everything) {
    Data data;
    run_kernel([&] {
        Scratch<uint32_t> scratch(8);
        DataCopy(scratch.tensor, data.from.tensor(), 8);
        sync<HardEvent::MTE2_V>();
        asc_vf_call<add_one>(dim3(8), scratch.data());
        AscendC::PipeBarrier<PIPE_ALL>();
        CHECK_EQ(scratch.tensor.GetValue(7), 6u);
    });
}

// load -> VF -> store, with and without each of the two flags.
static uint32_t chain(bool load_flag, bool store_flag) {
    Data data;
    run_kernel([&] {
        Scratch<uint32_t> scratch(8);
        std::fill_n(scratch.data(), 8, kPoisonWord);
        DataCopy(scratch.tensor, data.from.tensor(), 8);
        if (load_flag) {
            sync<HardEvent::MTE2_V>(EVENT_ID1);
        }
        asc_vf_call<add_one>(dim3(8), scratch.data());
        if (store_flag) {
            sync<HardEvent::V_MTE3>(EVENT_ID2);
        }
        DataCopy(data.to.tensor(), scratch.tensor, 8);
    });
    return data.to.values[3];
}

TEST(a_missing_flag_shows_in_the_result) {
    CHECK_EQ(chain(true, true), 6u);
    CHECK_EQ(chain(true, false), seen(6u, kPoisonWord));
    CHECK_EQ(chain(false, true), seen(6u, kPoisonWord + 1));
}

TEST(vector_follows_vector_without_flags) {
    run_kernel([] {
        Scratch<uint32_t> scratch(8);
        AscendC::Duplicate(scratch.tensor, 7u, 8);
        asc_vf_call<add_one>(dim3(8), scratch.data());
        AscendC::Add(scratch.tensor, scratch.tensor, scratch.tensor, 8);
        sync<HardEvent::V_S>();
        CHECK_EQ(scratch.tensor.GetValue(2), 16u);
    });
}

TEST(a_flag_covers_what_came_before_it_only) {
    Data data;
    run_kernel([&] {
        Scratch<uint32_t> scratch(16);
        std::fill_n(scratch.data(), 16, 1u);
        DataCopy(scratch.tensor, data.from.tensor(), 8);
        AscendC::SetFlag<HardEvent::MTE2_S>(0);
        DataCopy(scratch.tensor[8], data.from.tensor(), 8);
        AscendC::WaitFlag<HardEvent::MTE2_S>(0);
        CHECK_EQ(scratch.tensor.GetValue(0), 5u);
        CHECK_EQ(scratch.tensor.GetValue(8), seen(5u, 1u));
    });
}

// Overwriting a buffer that MTE3 still reads: the store sends the new bytes.
TEST(reuse_needs_mte3_s) {
    for (bool flag : {false, true}) {
        Data data;
        run_kernel([&] {
            Scratch<uint32_t> scratch(8);
            std::fill_n(scratch.data(), 8, 1u);
            sync<HardEvent::S_MTE3>();
            DataCopy(data.to.tensor(), scratch.tensor, 8);
            if (flag) {
                sync<HardEvent::MTE3_S>();
            }
            scratch.tensor.SetValue(0, 2u);
        });
        CHECK_EQ(data.to.values[0], flag ? 1u : seen(1u, 2u));
    }
}

TEST(queues_order_their_pipes_but_not_the_scalar_unit) {
    Data data;
    run_kernel([&] {
        AscendC::TPipe pipe;
        AscendC::TQue<AscendC::TPosition::VECIN, 1> in;
        AscendC::TQue<AscendC::TPosition::VECOUT, 1> out;
        pipe.InitBuffer(in, 1, 32);
        pipe.InitBuffer(out, 1, 32);
        for (uint32_t round = 0; round < 2; ++round) {
            auto x = in.AllocTensor<uint32_t>();
            DataCopy(x, data.from.tensor(), 8);
            in.EnQue(x);
            x = in.DeQue<uint32_t>();
            if (round == 0) {
                CHECK_EQ(x.GetValue(0), seen(5u, kPoisonWord));
            }
            auto y = out.AllocTensor<uint32_t>();
            AscendC::Add(y, x, x, 8);
            in.FreeTensor(x);
            out.EnQue(y);
            y = out.DeQue<uint32_t>();
            DataCopy(data.to.tensor(), y, 8);
            out.FreeTensor(y);
        }
        CHECK_EQ(data.to.values[0], seen(10u, 0u));
    });
    CHECK_EQ(data.to.values[7], 10u);
}

TEST(arguments_of_a_vf_are_taken_at_the_call) {
    run_kernel([] {
        Scratch<uint32_t> scratch(16);
        std::fill_n(scratch.data(), 16, 0u);
        uint32_t* target = scratch.data();
        asc_vf_call<add_one>(dim3(8), target);
        target += 8;
        asc_vf_call<add_one>(dim3(1), target);
        CHECK_EQ(scratch.data()[0], seen(1u, 0u));
        sync<HardEvent::V_S>();
        CHECK_EQ(scratch.data()[0], 1u);
        CHECK_EQ(scratch.data()[8], 1u);
        CHECK_EQ(scratch.data()[9], 0u);
    });
}

// Hardware goes on by itself while the scalar unit polls; a kernel may rely on that.
TEST(pipes_advance_while_a_core_polls) {
    Data data;
    run_kernel(
        [&] {
            if (AscendC::GetBlockIdx() == 0) {
                Scratch<uint32_t> scratch(8);
                AscendC::Duplicate(scratch.tensor, 9u, 8);
                sync<HardEvent::V_MTE3>();
                DataCopy(data.to.tensor(), scratch.tensor, 8);
                CHECK_EQ(data.to.values[0], seen(9u, 0u));
                while (AscendC::ReadGmByPassDCache(data.from.values) != 1) {
                    port::poll_pause();
                }
            } else {
                while (AscendC::ReadGmByPassDCache(data.to.values) != 9) {
                    port::poll_pause();
                }
                AscendC::WriteGmByPassDCache(data.from.values, 1u);
            }
        },
        2);
}

}  // namespace ascend_deepep::twin_test
