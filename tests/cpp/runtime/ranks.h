// SPDX-License-Identifier: Apache-2.0
// Ranks as forked processes, with an exchange over shared memory: what a process group is to the Python package.
// Layer: tests. A rank's failed checks fail the test; a rank that hangs is ended by an alarm.
#pragma once

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "check.h"
#include "framework/runtime/communicator.h"

namespace ascend_deepep::test {

constexpr uint32_t kMaxTestRanks = 8;
constexpr size_t kMessageBytes = 8192;

// Shared by all ranks of a test.
struct Meeting {
    pthread_barrier_t barrier;
    size_t sizes[kMaxTestRanks];
    char messages[kMaxTestRanks][kMessageBytes];
    uint64_t words[kMaxTestRanks];  // for a test's own use
};

class Rank {
  public:
    Rank(Meeting* meeting, uint32_t rank, uint32_t num_ranks) : meeting_(meeting), rank_(rank), num_ranks_(num_ranks) {}

    uint32_t rank() const { return rank_; }
    uint32_t num_ranks() const { return num_ranks_; }
    Meeting& meeting() const { return *meeting_; }
    void barrier() const { ::pthread_barrier_wait(&meeting_->barrier); }

    AllGather all_gather() const {
        return [*this](const std::string& mine) {
            CHECK(mine.size() <= kMessageBytes);
            meeting_->sizes[rank_] = mine.size();
            std::memcpy(meeting_->messages[rank_], mine.data(), mine.size());
            barrier();
            std::vector<std::string> all;
            for (uint32_t i = 0; i < num_ranks_; ++i)
                all.emplace_back(meeting_->messages[i], meeting_->sizes[i]);
            barrier();
            return all;
        };
    }

    CommunicatorOptions options(const std::string& name = "test") const {
        CommunicatorOptions made;
        made.name = name;
        made.rank = rank_;
        made.limits = {num_ranks_, 16, 64, 2, 4 * num_ranks_, 0};
        made.num_cores = 5;
        made.timeout_ms = 20000;
        return made;
    }

  private:
    Meeting* meeting_;
    uint32_t rank_;
    uint32_t num_ranks_;
};

// Runs `body` on every rank, each in a process of its own. A rank in `killed` must end by SIGKILL, all others well.
inline void run_ranks(uint32_t num_ranks, const std::function<void(const Rank&)>& body, int killed = -1) {
    void* memory = ::mmap(nullptr, sizeof(Meeting), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    auto* meeting = static_cast<Meeting*>(memory);
    pthread_barrierattr_t shared;
    ::pthread_barrierattr_init(&shared);
    ::pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
    ::pthread_barrier_init(&meeting->barrier, &shared, num_ranks);
    std::vector<pid_t> children;
    for (uint32_t rank = 0; rank < num_ranks; ++rank) {
        const pid_t child = ::fork();
        if (child == 0) {
            check::failures() = 0;  // those of earlier tests are the parent's
            ::alarm(60);
            try {
                body(Rank(meeting, rank, num_ranks));
            } catch (const CommunicatorError& error) {
                check::fail("rank", static_cast<int>(rank), error.status.message);
            } catch (const std::exception& error) {
                check::fail("rank", static_cast<int>(rank), error.what());
            }
            ::_exit(check::failures() == 0 ? 0 : 1);
        }
        children.push_back(child);
    }
    for (uint32_t rank = 0; rank < num_ranks; ++rank) {
        int status = 0;
        ::waitpid(children[rank], &status, 0);
        const bool is_good = static_cast<int>(rank) == killed ? WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL
                                                              : WIFEXITED(status) && WEXITSTATUS(status) == 0;
        if (!is_good) check::fail("rank", static_cast<int>(rank), "ended with status " + std::to_string(status));
    }
    ::munmap(memory, sizeof(Meeting));
}

// The status that a collective creation throws; its message is empty when it throws nothing.
inline op_host::Status creation_error(const CommunicatorOptions& options, const AllGather& all_gather) {
    try {
        Communicator::create(options, all_gather);
    } catch (const CommunicatorError& error) {
        return error.status;
    }
    return {};
}

inline bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

}  // namespace ascend_deepep::test
