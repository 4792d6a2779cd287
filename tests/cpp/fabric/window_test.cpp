// SPDX-License-Identifier: Apache-2.0
// Window files, their exchange between processes, liveness, wake-ups, and what the host tells of itself. Layer: tests.
#include "twin/fabric/window.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "check.h"
#include "twin/fabric/fd_exchange.h"
#include "twin/fabric/host.h"
#include "twin/fabric/liveness.h"
#include "twin/fabric/waiter.h"
#include "twin/runtime/flag_access.h"

namespace {

using namespace ascend_deepep::twin;
using Clock = std::chrono::steady_clock;

constexpr uint64_t kWindowBytes = 1 << 20;

double milliseconds_since(Clock::time_point start) {
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

TEST(window_file_is_sparse_and_sealed) {
    constexpr uint64_t kHuge = uint64_t{1} << 38;
    const FileDescriptor file = create_window_file(kHuge);
    check_window_file(file.get(), kHuge, 0);
    CHECK(::ftruncate(file.get(), 4096) != 0);
    CHECK(::ftruncate(file.get(), static_cast<off_t>(kHuge * 2)) != 0);
    CHECK_THROWS(FabricSetupError, "rank 5", check_window_file(file.get(), kHuge - 4096, 5));
    const FileDescriptor foreign(::memfd_create("foreign", MFD_ALLOW_SEALING));
    CHECK(::ftruncate(foreign.get(), static_cast<off_t>(kWindowBytes + kSharedPageBytes)) == 0);
    CHECK_THROWS(FabricSetupError, "not sealed", check_window_file(foreign.get(), kWindowBytes, 1));
    WindowTable table(2, kHuge);
    table.map(1, file.get());
    table.window(1)[kHuge - 1] = 9;
    CHECK_EQ(table.window(1)[kHuge - 1], 9);
}

TEST(window_table_knows_ranks_and_offsets) {
    WindowTable table(3, kWindowBytes);
    CHECK(table.contains(table.window(0)));
    CHECK(table.contains(table.window(2) + kWindowBytes - 1));
    CHECK(!table.contains(table.window(0) - 1));
    CHECK(!table.contains(&table));
    CHECK_EQ(table.rank_of(table.window(2) + 5), 2U);
    CHECK_EQ(table.offset_of(table.window(2) + 5), 5U);
}

TEST(windows_change_hands_between_processes) {
    int names[2], back[2];
    CHECK(::pipe(names) == 0 && ::pipe(back) == 0);
    FdExchange mine(1);
    const FileDescriptor file = create_window_file(kWindowBytes);
    const pid_t parent = ::getpid();
    const pid_t child = ::fork();
    if (child == 0) {
        const FileDescriptor own = create_window_file(kWindowBytes);
        WindowTable table(1, kWindowBytes);
        table.map(0, own.get());
        table.window(0)[100] = 42;
        FdExchange theirs(2);
        const std::string name = theirs.socket_name();
        const bool is_told = ::write(names[1], name.data(), name.size()) > 0;
        const auto files = theirs.run(1, own.get(), {{mine.socket_name(), parent}, {name, ::getpid()}}, 99, 5000);
        WindowTable peer(1, kWindowBytes);
        peer.map(0, files[0].get());
        ::_exit(is_told && peer.window(0)[200] == 43 ? 0 : 1);
    }
    char name[128] = {};
    CHECK(::read(names[0], name, sizeof(name) - 1) > 0);
    WindowTable table(2, kWindowBytes);
    table.map(0, file.get());
    table.window(0)[200] = 43;
    const auto files = mine.run(0, file.get(), {{mine.socket_name(), parent}, {name, child}}, 99, 5000);
    check_window_file(files[1].get(), kWindowBytes, 1);
    table.map(1, files[1].get());
    CHECK_EQ(table.window(1)[100], 42);
    int status = 0;
    ::waitpid(child, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(exchange_names_who_did_not_come) {
    FdExchange alone(3);
    const FileDescriptor file = create_window_file(kWindowBytes);
    const auto start = Clock::now();
    CHECK_THROWS(
        FabricSetupError, "from rank 1, 2 within 50 ms",
        alone.run(0, file.get(),
                  {{alone.socket_name(), ::getpid()}, {"ascend-deepep-nobody", 1}, {"ascend-deepep-none", 1}}, 7, 50));
    CHECK(milliseconds_since(start) < 2000);
}

TEST(exchange_drops_what_another_process_sends) {
    FdExchange mine(4);
    const FileDescriptor file = create_window_file(kWindowBytes);
    const pid_t intruder = ::fork();
    if (intruder == 0) {  // claims to be rank 1, whose process is this test's
        FdExchange theirs(5);
        const FileDescriptor bad = create_window_file(4096);
        try {
            theirs.run(1, bad.get(), {{mine.socket_name(), ::getppid()}, {theirs.socket_name(), ::getpid()}}, 7, 100);
        } catch (const FabricSetupError&) {
        }
        ::_exit(0);
    }
    FdExchange second(6);
    std::thread rank1([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(150));
        const FileDescriptor good = create_window_file(kWindowBytes);
        second.run(1, good.get(), {{mine.socket_name(), ::getpid()}, {second.socket_name(), ::getpid()}}, 7, 5000);
    });
    const auto files =
        mine.run(0, file.get(), {{mine.socket_name(), ::getpid()}, {second.socket_name(), ::getpid()}}, 7, 5000);
    check_window_file(files[1].get(), kWindowBytes, 1);
    rank1.join();
    ::waitpid(intruder, nullptr, 0);
}

TEST(liveness_names_a_process_that_is_gone) {
    const pid_t child = ::fork();
    if (child == 0) {
        ::pause();
        ::_exit(0);
    }
    const Liveness liveness({::getpid(), child});
    CHECK(liveness.gone().empty());
    ::kill(child, SIGKILL);
    for (int i = 0; i < 200 && liveness.gone().empty(); ++i)
        ::usleep(10000);
    CHECK_EQ(liveness.gone().size(), 1U);  // not yet reaped: a zombie is gone as well
    CHECK_EQ(liveness.gone().at(0), 1U);
    ::waitpid(child, nullptr, 0);
    CHECK_EQ(liveness.gone().at(0), 1U);
}

TEST(a_write_wakes_a_sleeper) {
    const FileDescriptor file0 = create_window_file(kWindowBytes), file1 = create_window_file(kWindowBytes);
    WindowTable table(2, kWindowBytes);
    table.map(0, file0.get());
    table.map(1, file1.get());
    Waiter sleeper(table, 0), writer(table, 1);
    for (int i = 0; i < 20; ++i)
        sleeper.wait();  // from here on it sleeps
    std::thread waker([&] {
        while (load_wake_word(&table.shared(0).sleepers) == 0)
            std::this_thread::yield();
        writer.note_write(0);
        writer.note_write(0);
        writer.flush();
    });
    for (int i = 0; load_wake_word(&table.shared(0).wake_word) == 0; ++i) {
        CHECK(i < 100000);
        sleeper.wait();
    }
    waker.join();
    CHECK_EQ(load_wake_word(&table.shared(0).wake_word), 1U);  // two writes of one round, one bump
    writer.flush();
    CHECK_EQ(load_wake_word(&table.shared(0).wake_word), 1U);
    const auto start = Clock::now();
    for (int i = 0; i < 30; ++i)
        sleeper.wait();
    CHECK(milliseconds_since(start) < 1000);  // a sleep is a millisecond, whoever forgets to wake
}

TEST(ranks_on_one_host_are_told_apart_from_others) {
    const HostIdentity own = host_identity();
    CHECK(std::strlen(own.boot_id) == 36);
    CHECK_EQ(host_difference(own, own), "");
    HostIdentity other = own;
    std::strcpy(other.hostname, "node7");
    CHECK_EQ(host_difference(own, other), std::string("host node7, not ") + own.hostname);
    other = own;
    other.boot_id[0] = other.boot_id[0] == 'a' ? 'b' : 'a';
    CHECK(host_difference(own, other).find("host ") == 0);
    other = own;
    ++other.pid_namespace;
    CHECK(host_difference(own, other).find("PID namespace") != std::string::npos);
    other = own;
    ++other.net_namespace;
    CHECK(host_difference(own, other).find("network namespace") != std::string::npos);
}

// A made-up file tree for free_memory_below().
struct Tree {
    std::filesystem::path root;
    Tree() {
        char pattern[] = "/tmp/ascend_deepep_host_XXXXXX";
        root = ::mkdtemp(pattern);
    }
    ~Tree() { std::filesystem::remove_all(root); }
    void file(const std::string& path, const std::string& text) const {
        const std::filesystem::path full = root / path;
        std::filesystem::create_directories(full.parent_path());
        std::ofstream(full) << text;
    }
};

TEST(free_memory_is_the_nearest_limit) {
    const Tree tree;
    tree.file("proc/meminfo", "MemTotal:  100 kB\nMemFree: 10 kB\nMemAvailable:   64 kB\n");
    CHECK_EQ(free_memory_below(tree.root).bytes, 65536U);
    CHECK_EQ(free_memory_below(tree.root).source, "MemAvailable");

    tree.file("proc/self/cgroup", "3:cpu,memory:/job/rank\n0::/job\n");
    tree.file("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "50000\n");
    tree.file("sys/fs/cgroup/memory/job/memory.usage_in_bytes", "30000\n");
    tree.file("sys/fs/cgroup/memory/job/memory.stat", "cache 9\ntotal_inactive_file 4000\ntotal_active_file 1000\n");
    CHECK_EQ(free_memory_below(tree.root).bytes, 25000U);
    CHECK_EQ(free_memory_below(tree.root).source, "the memory limit of cgroup /job");

    tree.file("sys/fs/cgroup/job/memory.max", "max\n");
    CHECK_EQ(free_memory_below(tree.root).bytes, 25000U);
    tree.file("sys/fs/cgroup/job/memory.max", "9000\n");
    tree.file("sys/fs/cgroup/job/memory.current", "8000\n");
    tree.file("sys/fs/cgroup/job/memory.stat", "anon 7\nactive_file 10\ninactive_file 20\n");
    CHECK_EQ(free_memory_below(tree.root).bytes, 1030U);
    tree.file("sys/fs/cgroup/job/memory.current", "20000\n");  // over the limit: nothing is left, not a huge number
    CHECK_EQ(free_memory_below(tree.root).bytes, 0U);
}

TEST(free_memory_of_this_machine_is_sane) {
    const FreeMemory free = free_memory();
    CHECK(free.bytes > (uint64_t{1} << 20));
    CHECK(free.bytes < (uint64_t{1} << 50));
}

}  // namespace
