// SPDX-License-Identifier: Apache-2.0
// Which x86-64 level this CPU has, by the features that compilers of all supported versions can ask for: no CPU has
// these without the rest of its level. Layer: twin/runtime.
#pragma once

namespace ascend_deepep::twin {

#if defined(__x86_64__)
inline bool cpu_has_x86_64_v3() {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma");
}
inline bool cpu_has_x86_64_v4() {
    return cpu_has_x86_64_v3() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
}
#endif

}  // namespace ascend_deepep::twin
