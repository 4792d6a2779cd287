// SPDX-License-Identifier: Apache-2.0
// Checker "reuse": memory of a peer is written again only when the peer has finished reading it (docs/protocol.md, I3
// for halves, I4 for control slots). It is asked when a write leaves, since from then on it may become visible.
// Layer: twin/sim. It knows halves and slots by number, not what their readers really touch; a peer that is dead or
// broken reads nothing any more and is not looked at.
#pragma once

#include <string>

#include "twin/sim/checks/blocks.h"

namespace ascend_deepep::sim {

// What is wrong with the write, or nothing.
std::string reuse_fault(const WindowArena& arena, const RemoteWrite& write);

}  // namespace ascend_deepep::sim
