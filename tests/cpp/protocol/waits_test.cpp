// SPDX-License-Identifier: Apache-2.0
// performance_info: how long this rank has waited for each source. Layer: tests. docs/protocol.md, "Waiting times".
#include <atomic>
#include <chrono>
#include <thread>

#include "features.h"

namespace ascend_deepep::test {
namespace {

using std::chrono::milliseconds;

constexpr Case kCase{3, 6, 2, 6, 128, 8};
constexpr int64_t kLongUs = 10'000;

// All ranks come here before one goes on; if one never does, its own error says why.
class Meeting {
  public:
    explicit Meeting(uint32_t num_ranks) : num_ranks_(num_ranks) {}
    void join() {
        const uint32_t all = (come_++ / num_ranks_ + 1) * num_ranks_;
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (come_ < all && std::chrono::steady_clock::now() < deadline)
            std::this_thread::yield();
    }

  private:
    uint32_t num_ranks_;
    std::atomic<uint32_t> come_{0};
};

int64_t us_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - start).count();
}

// A batch whose calls have performance_info; `before`: what stands there.
Batch timed_batch(const Case& c, uint32_t rank, int64_t before) {
    Batch batch = make_batch(c, rank, 1);
    batch.features.has_performance = true;
    batch.performance_info.assign(c.num_ranks, before);
    return batch;
}

// Rank 1 begins its call long after the others, in dispatch as in combine.
TEST(a_late_rank_is_waited_for) {
    for (const CombineEngine engine : {CombineEngine::kMte, CombineEngine::kUrma}) {
        for (const char* policy : {"fast", "sim"}) {
            WorldOptions options = world_of(kCase, policy);
            options.engine = engine;
            Meeting meeting(kCase.num_ranks);
            run_world(options, [&](RankMachine& rank) {
                const Batch batch = timed_batch(kCase, rank.rank(), 0);
                DispatchResult dispatched;
                for (const bool is_dispatch : {true, false}) {
                    std::vector<int64_t> info;
                    meeting.join();
                    if (rank.rank() == 1) std::this_thread::sleep_for(milliseconds(100));
                    const auto start = std::chrono::steady_clock::now();
                    if (is_dispatch) {
                        dispatched = rank.dispatch(batch);
                        CHECK_EQ(dispatched.outcome.code, Code::kOk);
                        info = dispatched.performance_info;
                    } else {
                        const CombineResult sums = rank.combine(batch, dispatched, dispatched.expand_x);
                        CHECK_EQ(sums.outcome.code, Code::kOk);
                        info = sums.performance_info;
                    }
                    const int64_t call_us = us_since(start);
                    for (const int64_t us : info)
                        CHECK(0 <= us && us <= call_us);
                    if (rank.rank() != 1) CHECK(info[1] >= kLongUs);
                }
            });
        }
    }
}

// What is there stays unless a wait was longer.
TEST(waits_are_combined_with_what_is_there) {
    constexpr int64_t kMost = int64_t{1} << 50;
    run_world(world_of(kCase, "fast"), [&](RankMachine& rank) {
        const Batch batch = timed_batch(kCase, rank.rank(), kMost);
        const DispatchResult dispatched = rank.dispatch(batch);
        CHECK(all_are(dispatched.performance_info, kMost));
        CHECK(all_are(rank.combine(batch, dispatched, dispatched.expand_x).performance_info, kMost));
    });
}

// The messages come, but rank 1 finds no room for a WQE in its ring to rank 0 for a while.
TEST(late_copies_and_rows_are_waited_for) {
    for (const char* policy : {"fast", "sim"}) {
        const Case c{2, 6, 2, 4, 1040, 8};
        WorldOptions options = world_of(c, policy);
        options.engine = CombineEngine::kUrma;
        Meeting meeting(c.num_ranks);
        run_world(options, [&](RankMachine& rank) {
            const Batch batch = timed_batch(c, rank.rank(), 0);
            auto* depth = &reinterpret_cast<QueueContext*>(rank.fabric().engine().queue_table())->sq_depth;
            DispatchResult dispatched;
            for (const bool is_dispatch : {true, false}) {
                std::vector<int64_t> info;
                if (rank.rank() == 1) __atomic_store_n(depth, 0U, __ATOMIC_RELEASE);
                meeting.join();
                std::thread late([&] {
                    if (rank.rank() != 1) return;
                    std::this_thread::sleep_for(milliseconds(100));
                    __atomic_store_n(depth, options.queue_depth, __ATOMIC_RELEASE);
                });
                if (is_dispatch) {
                    dispatched = rank.dispatch(batch);
                    CHECK_EQ(dispatched.outcome.code, Code::kOk);
                    info = dispatched.performance_info;
                } else {
                    const CombineResult sums = rank.combine(batch, dispatched, dispatched.expand_x);
                    CHECK_EQ(sums.outcome.code, Code::kOk);
                    info = sums.performance_info;
                }
                late.join();
                if (rank.rank() == 0) CHECK(info[1] >= kLongUs);
            }
        });
    }
}

}  // namespace
}  // namespace ascend_deepep::test
