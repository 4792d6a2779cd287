// SPDX-License-Identifier: Apache-2.0
// asc_vf_call: hands a SIMT function with its arguments to pipe V.
// Layer: twin/include. Arguments are captured by value at the call; scalars and pointers only.
#pragma once

#include <tuple>
#include <type_traits>
#include <utility>

#include "twin/runtime/launch_bound.h"
#include "twin/runtime/simt.h"
#include "twin/runtime/vf_arguments.h"
#include "twin_detail/compile_rules.h"
#include "twin_detail/policy.h"

namespace ascend_deepep::twin {

// One SIMT thread's stack, from this translation unit's own optimisation level. Sim's hooks may throw from a thread.
#if defined(__SANITIZE_ADDRESS__) || !defined(__OPTIMIZE__)
constexpr size_t kSimtStackBytes = 64 * 1024;
#else
constexpr size_t kSimtStackBytes = Policy::kChecksWords ? 32 * 1024 : 8 * 1024;
#endif

template <typename Function>
struct SimtFunction;

template <typename... Parameters>
struct SimtFunction<void (*)(Parameters...)> {
    static_assert(((std::is_arithmetic_v<Parameters> || std::is_enum_v<Parameters> || std::is_pointer_v<Parameters>) &&
                   ...),
                  ASCEND_DEEPEP_VF_ARGUMENTS);
    using Arguments = std::tuple<Parameters...>;
    static constexpr uint32_t kWords = (0 + ... + (sizeof(Parameters) > sizeof(uint32_t) ? 2 : 1));

    // Once for each function: the static is this instance's.
    template <auto function>
    static void warn_once() {
        if constexpr (kWords > kMaxVfArgumentWords) {
            static const bool warned = (warn_vf_arguments(__PRETTY_FUNCTION__, kWords), true);
            static_cast<void>(warned);
        }
    }

    template <auto function>
    static void loop(void* arguments, SimtRunner& runner) {
        const Arguments& values = *static_cast<const Arguments*>(arguments);
        while (runner.claim()) {
            std::apply(function, values);
            runner.finish();
        }
    }
};

}  // namespace ascend_deepep::twin

template <auto funcPtr, typename... Args>
__aicore__ inline void asc_vf_call(dim3 threadNums, Args&&... args) {
    using namespace ascend_deepep::twin;
    using Function = SimtFunction<decltype(funcPtr)>;
    static_cast<void>(scalar_core("asc_vf_call"));
    Function::template warn_once<funcPtr>();
    typename Function::Arguments arguments(std::forward<Args>(args)...);
    const uint64_t threads = uint64_t{threadNums.x} * threadNums.y * threadNums.z;
    require(threads >= 1 && threads <= kMaxSimtThreads, rules::kSimtThreads, "asc_vf_call", threads, kMaxSimtThreads,
            "launch fewer threads and loop over the work");
    static const uint32_t bound = launch_bound(reinterpret_cast<const void*>(funcPtr));
    require(threads <= bound, rules::kLaunchBounds, "asc_vf_call", threads, bound,
            "launch fewer threads, or raise the bound (1024 where none is given)");
    issue(Pipe::kV, [arguments, threadNums]() mutable {
        run_simt(
            {threadNums.x, threadNums.y, threadNums.z, kSimtStackBytes, &Function::template loop<funcPtr>, &arguments});
    });
}
