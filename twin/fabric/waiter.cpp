// SPDX-License-Identifier: Apache-2.0
// Yields and futexes. Layer: twin/fabric.
#include "twin/fabric/waiter.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "twin/runtime/flag_access.h"

namespace ascend_deepep::twin {
namespace {

constexpr uint32_t kYieldsBeforeSleep = 8;
constexpr long kSleepNanoseconds = 1000000;  // bounds the delay of time-outs, liveness and interrupts as well

// Not FUTEX_PRIVATE: the word is shared between processes.
void futex_wait(uint32_t* word, uint32_t expected) {
    const timespec limit{0, kSleepNanoseconds};
    ::syscall(SYS_futex, word, FUTEX_WAIT, expected, &limit, nullptr, 0);
}
void futex_wake(uint32_t* word) {
    ::syscall(SYS_futex, word, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

}  // namespace

Waiter::Waiter(const WindowTable& windows, uint32_t rank)
    : windows_(windows), rank_(rank), is_dirty_(windows.num_ranks(), 0) {
    dirty_.reserve(windows.num_ranks());
}

void Waiter::note_write(uint32_t peer) {
    if (is_dirty_[peer]) return;
    is_dirty_[peer] = 1;
    dirty_.push_back(peer);
}

void Waiter::flush() {
    for (uint32_t peer : dirty_) {
        SharedPage& page = windows_.shared(peer);
        bump_wake_word(&page.wake_word);
        if (load_wake_word(&page.sleepers) != 0) futex_wake(&page.wake_word);
        is_dirty_[peer] = 0;
    }
    dirty_.clear();
}

void Waiter::wait() {
    SharedPage& own = windows_.shared(rank_);
    const uint32_t now = load_wake_word(&own.wake_word);
    if (now != seen_) {  // something came while the cores polled: they look again
        seen_ = now;
        fruitless_ = 0;
        return;
    }
    if (++fruitless_ <= kYieldsBeforeSleep) {
        ::sched_yield();
        return;
    }
    store_wake_word(&own.sleepers, 1);
    futex_wait(&own.wake_word, seen_);
    store_wake_word(&own.sleepers, 0);
}

}  // namespace ascend_deepep::twin
