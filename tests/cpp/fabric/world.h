// SPDX-License-Identifier: Apache-2.0
// Ranks of one process, each with its own view of all windows, and blocks to write into them. Layer: tests.
#pragma once

#include <unistd.h>

#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "twin/fabric/fabric.h"

namespace ascend_deepep::fabric_test {

using namespace ascend_deepep::twin;

constexpr uint64_t kTag = 0x1234567800000005ULL;

inline CommunicatorLimits limits_of(uint32_t num_ranks) {
    return {num_ranks, 8, 64, 2, 2 * num_ranks, 0};
}

struct World {
    WindowLayout layout;
    std::vector<FileDescriptor> files;
    std::vector<std::unique_ptr<Memory>> memories;
    std::vector<std::unique_ptr<Fabric>> ranks;
    pid_t peer_pid;

    explicit World(uint32_t num_ranks, bool is_stepped = false, pid_t last_pid = ::getpid())
        : layout(window_layout(limits_of(num_ranks))), peer_pid(last_pid) {
        for (uint32_t rank = 0; rank < num_ranks; ++rank)
            files.push_back(create_window_file(layout.total_bytes));
        for (uint32_t rank = 0; rank < num_ranks; ++rank) {
            auto table = std::make_unique<WindowTable>(num_ranks, layout.total_bytes);
            for (uint32_t peer = 0; peer < num_ranks; ++peer)
                table->map(peer, files[peer].get());
            FabricConfig config{};
            config.rank = rank;
            config.layout = layout;
            config.queue_depth = 8;
            config.is_stepped = is_stepped;
            for (uint32_t peer = 0; peer < num_ranks; ++peer) {
                config.nonces.push_back(peer + 100);
                config.pids.push_back(peer + 1 == num_ranks ? last_pid : ::getpid());
            }
            memories.push_back(std::make_unique<Memory>(UrmaEngine::memory_bytes(num_ranks, 8, 8)));
            ranks.push_back(std::make_unique<Fabric>(config, std::move(table), *memories.back()));
        }
    }
    uint64_t offset(WindowRegion region, uint64_t at = 0) const {
        return layout.regions[static_cast<uint32_t>(region)].offset + at;
    }
    uint8_t* window(uint32_t viewer, uint32_t owner) { return ranks[viewer]->windows().window(owner); }
};

// A token copy of one block, filled with `byte`.
inline std::vector<uint8_t> block(uint8_t byte, uint64_t tag = kTag, uint32_t blocks = 1) {
    std::vector<uint8_t> bytes(blocks * kBlockBytes, byte);
    for (uint32_t i = 0; i < blocks; ++i)
        std::memcpy(&bytes[flag_offset(i)], &tag, sizeof(tag));
    return bytes;
}

}  // namespace ascend_deepep::fabric_test
