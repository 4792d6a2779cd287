// SPDX-License-Identifier: Apache-2.0
// A timeline as a trace for Perfetto or chrome://tracing. Layer: simulator; docs/twin.md, "Timeline".
// A process is a rank; its threads are the host, the cores, the queues and the links. WQEs of a queue and writes of a
// link that overlap lie on several threads of the same name.
#pragma once

#include <string>

#include "twin/sim/world.h"

namespace ascend_deepep::simulator {

// JSON text. `world`: that the timeline is of.
std::string trace_json(const sim::Timeline& timeline, const sim::World& world);

// Throws std::runtime_error when the file cannot be written.
void write_trace_file(const std::string& path, const sim::Timeline& timeline, const sim::World& world);

}  // namespace ascend_deepep::simulator
