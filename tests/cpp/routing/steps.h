// SPDX-License-Identifier: Apache-2.0
// Counts what SIMT threads execute. Layer: tests.
// A step is a basic block of SIMT code, as the compiler cut it at -O1: each turn of a loop, each side of a branch and
// each GM access is one or a few. Units compiled with -fsanitize-coverage=trace-pc are counted, while a VF runs.
#pragma once

#include <cstdint>

namespace ascend_deepep::routing_test {

uint64_t simt_steps();  // since the program began

}  // namespace ascend_deepep::routing_test
