// SPDX-License-Identifier: Apache-2.0
// The block rule: what a range copies, and that a block read after its tag is whole, between two processes.
// Layer: tests; docs/protocol.md, A1.
#include "twin/fabric/block_copy.h"

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "check.h"
#include "contract/block.h"
#include "twin/fabric/window.h"
#include "twin/runtime/copy_kernels.h"
#include "twin/runtime/flag_access.h"

namespace {

using namespace ascend_deepep;
using namespace ascend_deepep::twin;

constexpr uint64_t kWindowBytes = 1 << 20;
constexpr const char* kIsas[] = {"baseline", "x86_64_v3", "x86_64_v4"};

struct OneWindow {
    FileDescriptor file = create_window_file(kWindowBytes);
    WindowTable table{1, kWindowBytes};
    OneWindow() { table.map(0, file.get()); }
    uint8_t* data() { return table.window(0); }
};

TEST(write_window_copies_exactly_its_range) {
    OneWindow window;
    std::vector<uint8_t> source(4096);
    for (size_t i = 0; i < source.size(); ++i)
        source[i] = static_cast<uint8_t>(i * 7 + 1);
    const size_t ranges[][2] = {{0, 512},  {0, 480},    {480, 32}, {0, 32},  {480, 512}, {448, 64},
                                {32, 448}, {512, 1024}, {96, 900}, {488, 8}, {0, 4096},  {481, 3},
                                {480, 4},  {1000, 24},  {0, 1},    {479, 2}};
    for (const auto& range : ranges) {
        std::memset(window.data(), 0, 8192);
        write_window(window.data() + range[0], source.data(), range[1]);
        for (size_t i = 0; i < 8192; ++i) {
            const bool is_inside = i >= range[0] && i < range[0] + range[1];
            if (window.data()[i] != (is_inside ? source[i - range[0]] : 0)) {
                check::fail(__FILE__, __LINE__, "byte " + std::to_string(i) + " of range " + std::to_string(range[0]));
                break;
            }
        }
        std::vector<uint8_t> back(range[1], 0);
        read_window(back.data(), window.data() + range[0], range[1]);
        CHECK(std::memcmp(back.data(), source.data(), range[1]) == 0);
    }
}

// Two processes. A message is 16 blocks, put at once, in one of two places; every word of a block follows from its tag
// and index. The reader takes blocks last first, each as soon as its tag is there: a put that published any tag before
// its data would be caught in the middle of the others. (A put that writes each block's flag area just before its data
// fails in one block of a thousand.)
constexpr uint32_t kRounds = 20000;
constexpr uint32_t kPlaces = 2;
constexpr uint32_t kBlocks = 16;
constexpr uint64_t kBase = 0xABCDEF0100000000ULL;
constexpr uint64_t kAnswer = 64 * 1024 + kBlockDataBytes;  // where the reader says how far it is

uint64_t block_tag(uint32_t round) {
    return kBase + round;
}

void compose(uint8_t* block, uint32_t round, uint32_t index) {
    for (uint32_t i = 0; i < kBlockDataBytes / 8; ++i) {
        const uint64_t word = (block_tag(round) * 31 + index) * 0x9E3779B97F4A7C15ULL + i;
        std::memcpy(block + i * 8, &word, 8);
    }
    const uint64_t tag = block_tag(round);
    std::memset(block + kBlockDataBytes, 0x5A, kFlagBytes);
    std::memcpy(block + kBlockDataBytes, &tag, sizeof(tag));
}

// Both sides at once: on one processor they would take turns, and nobody would see a put half done.
void run_on_processor(int wanted) {
    cpu_set_t allowed, one;
    CPU_ZERO(&one);
    if (::sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return;
    for (int cpu = 0, seen = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (CPU_ISSET(cpu, &allowed) && seen++ == wanted) CPU_SET(cpu, &one);
    }
    if (CPU_COUNT(&one) == 1) ::sched_setaffinity(0, sizeof(one), &one);
}

uint8_t* place_of(uint8_t* window, uint32_t round) {
    return window + (round % kPlaces) * kBlocks * kBlockBytes;
}

// False: the other process was not heard.
bool await(const uint8_t* flag, uint64_t at_least) {
    for (uint64_t polls = 0; polls < 400'000'000; ++polls) {
        const uint64_t seen = load_tag(flag);
        if (seen >= at_least) return true;
        if (polls % 1024 == 1023) ::sched_yield();
    }
    return false;
}

// Blocks in which a byte was not the writer's; -1: the writer was not heard.
int read_messages(uint8_t* window) {
    int torn = 0;
    uint8_t expected[kBlockBytes], block[kBlockBytes];
    for (uint32_t round = 1; round <= kRounds; ++round) {
        for (uint32_t index = kBlocks; index-- > 0;) {
            const uint8_t* from = place_of(window, round) + index * kBlockBytes;
            if (!await(from + kBlockDataBytes, block_tag(round))) return -1;
            read_window(block, from, kBlockDataBytes);
            compose(expected, round, index);
            if (std::memcmp(block, expected, kBlockDataBytes) != 0) ++torn;
        }
        store_tag(window + kAnswer, block_tag(round));  // the place may be written again
    }
    return torn;
}

using WriteBlocks = void (*)(uint8_t* dst, const uint8_t* src, size_t count);

bool write_messages(uint8_t* window, WriteBlocks write_blocks) {
    uint8_t message[kBlocks * kBlockBytes];
    for (uint32_t round = 1; round <= kRounds; ++round) {
        if (round > kPlaces && !await(window + kAnswer, block_tag(round - kPlaces))) return false;
        for (uint32_t index = 0; index < kBlocks; ++index)
            compose(message + index * kBlockBytes, round, index);
        write_blocks(place_of(window, round), message, kBlocks);
    }
    return true;
}

void exchange_messages(WriteBlocks write_blocks) {
    OneWindow window;
    cpu_set_t before;
    CHECK_EQ(::sched_getaffinity(0, sizeof(before), &before), 0);
    const pid_t child = ::fork();
    run_on_processor(child == 0 ? 0 : 1);
    if (child == 0) ::_exit(write_messages(window.data(), write_blocks) ? 0 : 1);
    CHECK_EQ(read_messages(window.data()), 0);
    ::sched_setaffinity(0, sizeof(before), &before);
    int status = 0;
    CHECK_EQ(::waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(blocks_are_whole_between_processes) {
    exchange_messages(copy_kernels().write_blocks);
}

TEST(blocks_past_the_caches_are_whole_between_processes) {
    for (const char* isa : kIsas) {
        if (const CopyKernels* kernels = copy_kernels_of(isa)) exchange_messages(kernels->stream_blocks);
    }
}

}  // namespace
