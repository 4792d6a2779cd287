// SPDX-License-Identifier: Apache-2.0
// Two threads exchange blocks through twin/runtime/flag_access.h; built with -fsanitize=thread. Layer: tests.
// As it is, the detector must stay silent: tag stores release, tag loads acquire, so data and tag are ordered. Built
// with -DASCEND_DEEPEP_TEST_RELAXED_FLAGS it must report the race: that shows that silence means something.
#include <cstdio>
#include <cstring>
#include <thread>

#include "contract/block.h"
#include "twin/fabric/block_copy.h"
#include "twin/runtime/flag_access.h"

namespace {

using namespace ascend_deepep;
using namespace ascend_deepep::twin;

constexpr uint64_t kRounds = 2000;
alignas(kBlockBytes) uint8_t forth[kBlockBytes];
alignas(kBlockBytes) uint8_t back[kBlockBytes];

void put(uint8_t* block, uint64_t tag) {
    uint8_t image[kBlockBytes];
    std::memset(image, static_cast<int>(tag & 0xFF), sizeof(image));
    std::memcpy(image + kBlockDataBytes, &tag, sizeof(tag));
    write_window(block, image, sizeof(image));
}

// False: a byte of the block was not its writer's.
bool take(uint8_t* block, uint64_t tag) {
    while (load_tag(block + kBlockDataBytes) != tag)
        std::this_thread::yield();
    uint8_t data[kBlockDataBytes];
    read_window(data, block, sizeof(data));
    for (uint8_t byte : data) {
        if (byte != static_cast<uint8_t>(tag & 0xFF)) return false;
    }
    return true;
}

}  // namespace

int main() {
    bool is_whole[2] = {true, true};
    std::thread other([&] {
        for (uint64_t round = 1; round <= kRounds; ++round) {
            is_whole[1] = take(forth, round) && is_whole[1];
            put(back, round);
        }
    });
    for (uint64_t round = 1; round <= kRounds; ++round) {
        put(forth, round);
        is_whole[0] = take(back, round) && is_whole[0];
    }
    other.join();
    std::puts(is_whole[0] && is_whole[1] ? "blocks whole" : "blocks torn");
    return is_whole[0] && is_whole[1] ? 0 : 1;
}
