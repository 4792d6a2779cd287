// SPDX-License-Identifier: Apache-2.0
// TPipe, queues and events: memory, discipline and pairing rules.
// Layer: tests.
#include "tests/cpp/twin/kernel_fixture.h"

namespace ascend_deepep::twin_test {

using AscendC::HardEvent;
using AscendC::TPipe;
using AscendC::TPosition;
using AscendC::TQue;
using AscendC::TQueBind;

TEST(ub_is_as_large_as_the_launch_says) {
    CHECK_FAULT("UB overflow", TPipe p; AscendC::TBuf<> b; p.InitBuffer(b, 216 * 1024 + 1));
    run_kernel([] {
        TPipe pipe;
        AscendC::TBuf<> first;
        AscendC::TBuf<> second;
        pipe.InitBuffer(first, 216 * 1024 - 32);
        pipe.InitBuffer(second, 1);
    });
    CHECK_THROWS(KernelFault, "UB overflow", run_kernel([] { Scratch<uint8_t> s(4097); }, 1, nullptr, 4096));
    run_kernel([] { Scratch<uint8_t> s(4096); }, 1, nullptr, 4096);
    CHECK_THROWS(KernelFault, "must leave", run_kernel([] {}, 1, nullptr, 216 * 1024 + 32));
    CHECK_EQ(AscendC::GetUBSizeInBytes(), 248u * 1024);
}

#if !defined(__SANITIZE_ADDRESS__)
TEST(raw_stores_past_ub_are_seen) {
    const auto overrun = [](uint32_t at) {
        Scratch<uint8_t> scratch(4096);
        scratch.data()[at] = 1;
    };
    CHECK_THROWS(KernelFault, "past the launch's UB", run_kernel([&] { overrun(4096); }, 1, nullptr, 4096));
    run_kernel([&] { overrun(4095); }, 1, nullptr, 4096);
}
#endif

TEST(queue_numbers) {
    CHECK_FAULT("queue buffers of a kernel", TPipe p; TQue<TPosition::VECIN, 1> a; p.InitBuffer(a, 29, 32));
    run_kernel([] {
        TPipe pipe;
        TQue<TPosition::VECIN, 1> queue;
        pipe.InitBuffer(queue, 28, 32);
    });
    CHECK_FAULT("one TPipe", TPipe a; TPipe b);
    CHECK_FAULT("a queue needs buffers", TPipe p; TQue<TPosition::VECIN, 1> a; p.InitBuffer(a, 0, 32));
}

struct Queue {
    TPipe pipe;
    TQue<TPosition::VECIN, 2> queue;
    TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> other;
    Queue() {
        pipe.InitBuffer(queue, 2, 64);
        pipe.InitBuffer(other, 1, 64);
    }
};

TEST(queue_discipline) {
    CHECK_FAULT("all buffers of the queue are out", Queue q; q.queue.AllocTensor<int>(); q.queue.AllocTensor<int>();
                q.queue.AllocTensor<int>());
    CHECK_FAULT("was not freed", Queue q; q.queue.AllocTensor<int>());
    CHECK_FAULT("queue is empty", Queue q; q.queue.DeQue<int>());
    CHECK_FAULT("does not belong to this queue", Queue q; auto t = q.queue.AllocTensor<int>(); q.other.FreeTensor(t));
    CHECK_FAULT("does not belong to this queue", Queue q; AscendC::LocalTensor<int> t; q.queue.EnQue(t));
    CHECK_FAULT("was not allocated", Queue q; auto t = q.queue.AllocTensor<int>(); q.queue.FreeTensor(t);
                q.queue.EnQue(t));
    CHECK_FAULT("free or still queued", Queue q; auto t = q.queue.AllocTensor<int>(); q.queue.EnQue(t);
                q.queue.FreeTensor(t));
    CHECK_FAULT("free or still queued", Queue q; auto t = q.queue.AllocTensor<int>(); q.queue.FreeTensor(t);
                q.queue.FreeTensor(t));
    CHECK_FAULT("the queue is full", TPipe p; TQue<TPosition::VECIN, 1> s; p.InitBuffer(s, 2, 64);
                auto a = s.AllocTensor<int>(); auto b = s.AllocTensor<int>(); s.EnQue(a); s.EnQue(b));
    CHECK_FAULT("all buffers of the queue are out", TQue<TPosition::VECIN, 1> never; never.AllocTensor<int>());
}

TEST(queues_are_first_in_first_out) {
    run_kernel([] {
        Queue q;
        auto a = q.queue.AllocTensor<int>();
        auto b = q.queue.AllocTensor<int>();
        CHECK(!q.queue.HasIdleBuffer());
        a.SetValue(0, 1);
        b.SetValue(0, 2);
        q.queue.EnQue(a);
        q.queue.EnQue(b);
        CHECK_EQ(q.queue.GetTensorCountInQue(), 2);
        auto first = q.queue.DeQue<int>();
        CHECK_EQ(first.GetValue(0), 1);
        q.queue.FreeTensor(first);
        auto again = q.queue.AllocTensor<int>();
        CHECK_EQ(again.GetPhyAddr(), first.GetPhyAddr());
        q.queue.FreeTensor(again);
        auto second = q.queue.DeQue<int>();
        CHECK_EQ(second.GetValue(0), 2);
        q.queue.FreeTensor(second);
    });
}

TEST(reset_gives_the_memory_back) {
    run_kernel([] {
        TPipe pipe;
        for (int round = 0; round < 3; ++round) {
            AscendC::TBuf<> buffer;
            pipe.InitBuffer(buffer, 200 * 1024);
            pipe.Reset();
        }
        CHECK(GetTPipePtr() == &pipe);
        pipe.Destroy();
        TPipe next;
        CHECK(GetTPipePtr() == &next);
    });
    CHECK_FAULT("no TPipe is live", GetTPipePtr());
}

TEST(events_pair) {
    CHECK_FAULT("SetFlag twice", AscendC::SetFlag<HardEvent::MTE2_V>(1); AscendC::SetFlag<HardEvent::MTE2_V>(1));
    CHECK_FAULT("no SetFlag came before", AscendC::WaitFlag<HardEvent::MTE2_V>(0));
    CHECK_FAULT("without its WaitFlag", AscendC::SetFlag<HardEvent::V_MTE3>(0));
    CHECK_FAULT("event id must be 0..7", AscendC::SetFlag<HardEvent::V_MTE3>(8));
    CHECK_FAULT("event id must be 0..7", AscendC::WaitFlag<HardEvent::V_MTE3>(-1));
    run_kernel([] {
        AscendC::SetFlag<HardEvent::MTE2_V>(1);
        AscendC::SetFlag<HardEvent::V_MTE2>(1);
        AscendC::SetFlag<HardEvent::MTE2_V>(7);
        AscendC::WaitFlag<HardEvent::MTE2_V>(7);
        AscendC::WaitFlag<HardEvent::MTE2_V>(1);
        AscendC::WaitFlag<HardEvent::V_MTE2>(1);
    });
}

TEST(event_ids_are_reserved_per_kind) {
    run_kernel([] {
        TPipe pipe;
        CHECK_EQ(pipe.FetchEventID(HardEvent::MTE2_V), 0);
        CHECK_EQ(pipe.AllocEventID<HardEvent::MTE2_V>(), 0);
        CHECK_EQ(pipe.AllocEventID<HardEvent::MTE2_V>(), 1);
        CHECK_EQ(pipe.FetchEventID<HardEvent::MTE2_V>(), 2);
        CHECK_EQ(pipe.FetchEventID(HardEvent::V_MTE2), 0);
        pipe.ReleaseEventID<HardEvent::MTE2_V>(0);
        CHECK_EQ(pipe.FetchEventID(HardEvent::MTE2_V), 0);
    });
    CHECK_FAULT("all 8 event ids", TPipe p; for (int i = 0; i < 9; ++i) { p.AllocEventID<HardEvent::V_S>(); });
}

}  // namespace ascend_deepep::twin_test
