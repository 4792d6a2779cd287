// SPDX-License-Identifier: Apache-2.0
// TPipe, queues and events: memory, order, ids.
// Layer: tests.
#include "tests/cpp/twin/kernel_fixture.h"

namespace ascend_deepep::twin_test {

using AscendC::HardEvent;
using AscendC::TPipe;

TEST(queues_are_first_in_first_out) {
    run_kernel([] {
        Queues q;
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
}

TEST(events_pair) {
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
}

}  // namespace ascend_deepep::twin_test
