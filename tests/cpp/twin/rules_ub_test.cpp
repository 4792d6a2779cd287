// SPDX-License-Identifier: Apache-2.0
// Rules of UB, TPipe, queues and events: each one broken, and its legal neighbour.
// Layer: tests. A test is called rule_ and the rule's name.
#include "tests/cpp/twin/kernel_fixture.h"

namespace ascend_deepep::twin_test {

using AscendC::HardEvent;
using AscendC::TPipe;
using AscendC::TPosition;
using AscendC::TQue;

TEST(rule_ub_budget) {
    CHECK_FAULT(rules::kUbBudget, TPipe p; AscendC::TBuf<> b; p.InitBuffer(b, 216 * 1024 + 1));
    CHECK_REFUSED(rules::kUbBudget, run_kernel([] { Scratch<uint8_t> s(4097); }, 1, nullptr, 4096));
    run_kernel([] { Scratch<uint8_t> s(4096); }, 1, nullptr, 4096);
    run_kernel([] {
        TPipe pipe;
        AscendC::TBuf<> first;
        AscendC::TBuf<> second;
        pipe.InitBuffer(first, 216 * 1024 - 32);
        pipe.InitBuffer(second, 1);
    });
}

TEST(rule_ub_launch_size) {
    CHECK_REFUSED(rules::kUbLaunchSize, run_kernel([] {}, 1, nullptr, 216 * 1024 + 32));
    run_kernel([] {}, 1, nullptr, 216 * 1024);
}

#if !defined(__SANITIZE_ADDRESS__)
// Under AddressSanitizer the store itself is the error.
TEST(rule_ub_overrun) {
    const auto overrun = [](uint32_t at) {
        Scratch<uint8_t> scratch(4096);
        scratch.data()[at] = 1;
    };
    CHECK_REFUSED(rules::kUbOverrun, run_kernel([&] { overrun(4096); }, 1, nullptr, 4096));
    run_kernel([&] { overrun(4095); }, 1, nullptr, 4096);
}
#endif

TEST(rule_one_tpipe) {
    CHECK_FAULT(rules::kOneTpipe, TPipe a; TPipe b);
    run_kernel([] {
        TPipe first;
        first.Destroy();
        TPipe second;
    });
}

TEST(rule_one_ub_allocator) {
    using Tensor = AscendC::LocalTensor<uint32_t>;
    CHECK_FAULT(rules::kOneUbAllocator, TPipe p; Tensor t(TPosition::VECCALC, 0, 8));
    CHECK_FAULT(rules::kOneUbAllocator, Tensor t(TPosition::VECCALC, 0, 8); TPipe p);
    run_kernel([] {
        Tensor tensor(TPosition::VECCALC, 32, 8);
        tensor.SetValue(7, 5u);
        CHECK_EQ(tensor.GetValue(7), 5u);
    });
}

TEST(rule_tpipe_live) {
    CHECK_FAULT(rules::kTpipeLive, GetTPipePtr());
    CHECK_FAULT(rules::kTpipeLive, TPipe p; p.Destroy(); GetTPipePtr());
    run_kernel([] {
        TPipe pipe;
        CHECK(GetTPipePtr() == &pipe);
    });
}

TEST(rule_tpipe_buffers) {
    const auto cut = [](uint32_t count) {
        TPipe pipe;
        for (uint32_t i = 0; i < count; ++i) {
            AscendC::TBuf<> buffer;
            pipe.InitBuffer(buffer, 32);
        }
    };
    CHECK_FAULT(rules::kTpipeBuffers, cut(65));
    run_kernel([&] { cut(64); });
}

TEST(rule_buffer_size) {
    CHECK_FAULT(rules::kBufferSize, TPipe p; AscendC::TBuf<> b; p.InitBuffer(b, 0));
    CHECK_FAULT(rules::kBufferSize, TPipe p; TQue<TPosition::VECIN, 1> q; p.InitBuffer(q, 1, 0));
    run_kernel([] { Scratch<uint8_t> s(1); });
}

TEST(rule_buffer_initialised) {
    CHECK_FAULT(rules::kBufferInitialised, TPipe p; AscendC::TBuf<> b; b.Get<uint32_t>());
    CHECK_FAULT(rules::kBufferInitialised, Scratch<uint8_t> s(32); s.pipe.Reset(); s.buffer.Get<uint8_t>());
    CHECK_FAULT(rules::kBufferInitialised, TPipe p; TQue<TPosition::VECIN, 1> q; q.AllocTensor<int>());
    CHECK_FAULT(rules::kBufferInitialised, TPipe p; TQue<TPosition::VECIN, 1> q; p.InitBuffer(q, 1, 32); p.Reset();
                q.AllocTensor<int>());
    run_kernel([] {
        Scratch<uint8_t> scratch(32);
        scratch.pipe.Reset();
        scratch.pipe.InitBuffer(scratch.buffer, 64);
        CHECK_EQ(scratch.buffer.Get<uint8_t>().GetSize(), 64u);
    });
}

TEST(rule_mutex_ids) {
    const auto cut = [](uint8_t first, uint8_t second) {
        TPipe pipe;
        TQue<TPosition::VECIN, 1> in;
        TQue<TPosition::VECOUT, 1> out;
        AscendC::TBuf<> no_queue;
        pipe.InitBuffer(no_queue, 32);  // takes no id
        pipe.InitBuffer(in, first, 32);
        pipe.InitBuffer(out, second, 32);
    };
    CHECK_FAULT(rules::kMutexIds, cut(29, 1));
    CHECK_FAULT(rules::kMutexIds, cut(20, 9));
    run_kernel([&] { cut(20, 8); });
}

TEST(rule_queue_buffers) {
    CHECK_FAULT(rules::kQueueBuffers, TPipe p; TQue<TPosition::VECIN, 1> a; p.InitBuffer(a, 0, 32));
    run_kernel([] {
        TPipe pipe;
        TQue<TPosition::VECIN, 1> queue;
        pipe.InitBuffer(queue, 1, 32);
    });
}

TEST(queue_discipline_that_is_kept) {
    run_kernel([] {
        Queues q;
        for (int round = 0; round < 5; ++round) {
            auto in = q.queue.AllocTensor<int>();
            q.queue.EnQue(in);
            auto out = q.queue.DeQue<int>();
            q.queue.EnQue(out);  // a tensor that was taken out may be queued again
            out = q.queue.DeQue<int>();
            q.queue.FreeTensor(out);
        }
    });
}

TEST(rule_queue_alloc) {
    CHECK_FAULT(rules::kQueueAlloc, Queues q; q.queue.AllocTensor<int>(); q.queue.AllocTensor<int>();
                q.queue.AllocTensor<int>());
}

TEST(rule_queue_enque) {
    CHECK_FAULT(rules::kQueueEnque, Queues q; auto t = q.queue.AllocTensor<int>(); q.queue.FreeTensor(t);
                q.queue.EnQue(t));
    CHECK_FAULT(rules::kQueueEnque, Queues q; auto t = q.queue.AllocTensor<int>(); q.queue.EnQue(t); q.queue.EnQue(t));
}

TEST(rule_queue_full) {
    CHECK_FAULT(rules::kQueueFull, Queues q; auto a = q.other.AllocTensor<int>(); auto b = q.other.AllocTensor<int>();
                q.other.EnQue(a); q.other.EnQue(b));
}

TEST(rule_queue_empty) {
    CHECK_FAULT(rules::kQueueEmpty, Queues q; q.queue.DeQue<int>());
}

TEST(rule_queue_free) {
    CHECK_FAULT(rules::kQueueFree, Queues q; auto t = q.queue.AllocTensor<int>(); q.queue.EnQue(t);
                q.queue.FreeTensor(t));
    CHECK_FAULT(rules::kQueueFree, Queues q; auto t = q.queue.AllocTensor<int>(); q.queue.FreeTensor(t);
                q.queue.FreeTensor(t));
}

TEST(rule_queue_owner) {
    CHECK_FAULT(rules::kQueueOwner, Queues q; auto t = q.queue.AllocTensor<int>(); q.other.FreeTensor(t));
    CHECK_FAULT(rules::kQueueOwner, Queues q; AscendC::LocalTensor<int> t; q.queue.EnQue(t));
}

TEST(rule_queue_left) {
    CHECK_FAULT(rules::kQueueLeft, Queues q; q.queue.AllocTensor<int>());
    CHECK_FAULT(rules::kQueueLeft, Queues q; auto t = q.queue.AllocTensor<int>(); q.queue.EnQue(t));
    CHECK_FAULT(rules::kQueueLeft, Queues q; q.queue.AllocTensor<int>(); q.pipe.Reset());
}

TEST(rule_event_id) {
    CHECK_FAULT(rules::kEventId, AscendC::SetFlag<HardEvent::V_MTE3>(8));
    CHECK_FAULT(rules::kEventId, AscendC::WaitFlag<HardEvent::V_MTE3>(-1));
    CHECK_FAULT(rules::kEventId, TPipe p; p.ReleaseEventID<HardEvent::V_MTE3>(8));
    run_kernel([] { sync<HardEvent::V_MTE3>(7); });
}

TEST(rule_event_set_twice) {
    CHECK_FAULT(rules::kEventSetTwice, AscendC::SetFlag<HardEvent::MTE2_V>(1); AscendC::SetFlag<HardEvent::MTE2_V>(1));
    run_kernel([] {
        sync<HardEvent::MTE2_V>(1);
        sync<HardEvent::MTE2_V>(1);
    });
}

TEST(rule_event_not_set) {
    CHECK_FAULT(rules::kEventNotSet, AscendC::WaitFlag<HardEvent::MTE2_V>(0));
    CHECK_FAULT(rules::kEventNotSet, AscendC::SetFlag<HardEvent::V_MTE2>(0); AscendC::WaitFlag<HardEvent::MTE2_V>(0));
}

TEST(rule_event_left) {
    CHECK_FAULT(rules::kEventLeft, AscendC::SetFlag<HardEvent::V_MTE3>(0));
    run_kernel([] { sync<HardEvent::V_MTE3>(0); });
}

TEST(rule_event_ids_reserved) {
    const auto reserve = [](int count) {
        TPipe pipe;
        for (int i = 0; i < count; ++i) {
            pipe.AllocEventID<HardEvent::V_S>();
        }
    };
    CHECK_FAULT(rules::kEventIdsReserved, reserve(9));
    run_kernel([&] { reserve(8); });
}

}  // namespace ascend_deepep::twin_test
