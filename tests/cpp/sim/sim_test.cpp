// SPDX-License-Identifier: Apache-2.0
// The simulator's own properties, and a first few hundred seeds of the kernels. Layer: tests.
#include <cstdlib>
#include <set>

#include "check.h"
#include "framework/runtime/kernel_library.h"
#include "sim/scenario/runner.h"

namespace ascend_deepep::test {
namespace {

TEST(seeds_hold) {
    const twin::KernelTable& kernels = kernel_table("sim");
    for (uint64_t seed = 1; seed <= 300; ++seed) {
        const SeedResult result = run_seed(seed, SeedOptions{}, kernels);
        CHECK(result.findings.empty());
        if (!result.findings.empty()) std::fprintf(stderr, "seed %d\n", static_cast<int>(seed));
    }
}

}  // namespace
}  // namespace ascend_deepep::test
