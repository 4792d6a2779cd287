// SPDX-License-Identifier: Apache-2.0
// The choice of the copies by what the CPU can do. Layer: twin/runtime.
#include "twin/runtime/copy_kernels.h"

#include <cstring>
#include <initializer_list>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "twin/runtime/copy_leaf.h"
#include "twin/runtime/cpu.h"

namespace ascend_deepep::twin {
namespace {

#define ASCEND_DEEPEP_COPIES(isa, stream_blocks) \
    {#isa, isa::write_blocks, isa::stream_blocks, isa::stream, isa::read_pieces}

constexpr CopyKernels kBaseline = ASCEND_DEEPEP_COPIES(baseline, stream_blocks);

#if defined(ASCEND_DEEPEP_ISA_VARIANTS)
constexpr CopyKernels kV3 = ASCEND_DEEPEP_COPIES(x86_64_v3, stream_blocks);
constexpr CopyKernels kV4 = ASCEND_DEEPEP_COPIES(x86_64_v4, stream_blocks);
constexpr CopyKernels kV4ByLines = ASCEND_DEEPEP_COPIES(x86_64_v4, stream_blocks_by_lines);

bool has_movdir64b() {
    constexpr unsigned kFeatures = 7, kBit = 1U << 28;
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    return __get_cpuid_count(kFeatures, 0, &eax, &ebx, &ecx, &edx) != 0 && (ecx & kBit) != 0;
}
#endif

}  // namespace

const CopyKernels* copy_kernels_of(const char* isa) {
    if (std::strcmp(isa, kBaseline.isa) == 0) return &kBaseline;
#if defined(ASCEND_DEEPEP_ISA_VARIANTS)
    if (std::strcmp(isa, kV3.isa) == 0 && cpu_has_x86_64_v3()) return &kV3;
    if (std::strcmp(isa, kV4.isa) == 0 && cpu_has_x86_64_v4()) {
        return has_movdir64b() ? &kV4ByLines : &kV4;
    }
#endif
    return nullptr;
}

const CopyKernels& copy_kernels() {
    static const CopyKernels& chosen = [&]() -> const CopyKernels& {
        for (const char* isa : {"x86_64_v4", "x86_64_v3"}) {
            if (const CopyKernels* kernels = copy_kernels_of(isa)) return *kernels;
        }
        return kBaseline;
    }();
    return chosen;
}

}  // namespace ascend_deepep::twin
