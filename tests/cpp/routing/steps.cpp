// SPDX-License-Identifier: Apache-2.0
// Layer: tests. This unit is not counted itself.
#include "tests/cpp/routing/steps.h"

#include "twin/runtime/simt.h"

namespace {
uint64_t steps = 0;
}

// What the compiler calls in every basic block.
extern "C" void __sanitizer_cov_trace_pc() {
    if (ascend_deepep::twin::current_simt_pointer != nullptr) ++steps;
}

namespace ascend_deepep::routing_test {

uint64_t simt_steps() {
    return steps;
}

}  // namespace ascend_deepep::routing_test
