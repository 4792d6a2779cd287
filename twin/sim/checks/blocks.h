// SPDX-License-Identifier: Apache-2.0
// Checker "blocks": a write into a peer's window is whole 512 B blocks at a block boundary, inside one region that
// peers may write, and in the sender's own part of the region where it has one. Layer: twin/sim. It does not look at
// what the blocks hold.
#pragma once

#include <string>

#include "twin/sim/arena.h"

namespace ascend_deepep::sim {

struct RemoteWrite {
    uint32_t from, to;
    uint64_t offset;  // in the window of `to`
    uint64_t bytes;
};

// What is wrong with the write, or nothing.
std::string block_fault(const WindowArena& arena, const RemoteWrite& write);

}  // namespace ascend_deepep::sim
