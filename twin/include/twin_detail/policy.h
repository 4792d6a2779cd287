// SPDX-License-Identifier: Apache-2.0
// The compile-time policy under all accessors: Fast does work at once, Sim queues it per pipe and checks the GM range
// of every word. All other rules hold under both. Layer: twin/include. ASCEND_DEEPEP_TWIN_POLICY names it; a binary
// holds accessors of one policy only.
#pragma once

#include <utility>

#include "twin/runtime/core.h"

#if !defined(ASCEND_DEEPEP_TWIN_POLICY)
#error "define ASCEND_DEEPEP_TWIN_POLICY as Fast or Sim to compile against the twin"
#endif

namespace ascend_deepep::twin {

namespace policy {
struct Fast {
    static constexpr bool kDeferred = false;
    static constexpr bool kChecksWords = false;
};
struct Sim {
    static constexpr bool kDeferred = true;
    static constexpr bool kChecksWords = true;
};
}  // namespace policy

using Policy = policy::ASCEND_DEEPEP_TWIN_POLICY;

// Hands work to a pipe of the running core.
template <typename Work>
inline void issue(Pipe pipe, Work&& work) {
    if constexpr (Policy::kDeferred) {
        current_core().deferred->push(pipe, std::forward<Work>(work));
    } else {
        static_cast<void>(pipe);
        work();
    }
}

// Every access to a word of GM passes here.
[[gnu::always_inline]] inline void touch_gm(const void* p, size_t bytes, bool write) {
    Core& core = current_core();
    require_own_window(core.windows, p, bytes, write);
    if constexpr (Policy::kChecksWords) {
        core.hooks->access(p, bytes, write);
    }
    if (write) {
        core.progress = true;
    }
}

// The same by a machine that models caches and posted stores. False: there is none.
[[gnu::always_inline]] inline bool load_modelled([[maybe_unused]] GmPath path, [[maybe_unused]] const void* p,
                                                 [[maybe_unused]] void* value, [[maybe_unused]] size_t bytes) {
    if constexpr (Policy::kChecksWords) {
        Core& core = current_core();
        require_own_window(core.windows, p, bytes, false);
        return core.hooks->load(path, p, value, bytes);
    }
    return false;
}
[[gnu::always_inline]] inline bool store_modelled([[maybe_unused]] GmPath path, [[maybe_unused]] void* p,
                                                  [[maybe_unused]] const void* value, [[maybe_unused]] size_t bytes) {
    if constexpr (Policy::kChecksWords) {
        Core& core = current_core();
        require_own_window(core.windows, p, bytes, true);
        core.progress = true;
        return core.hooks->store(path, p, value, bytes);
    }
    return false;
}

// What a barrier, a fence or a cache operation does beyond its host fence.
[[gnu::always_inline]] inline void fence_modelled([[maybe_unused]] GmUnit unit) {
    if constexpr (Policy::kChecksWords) current_core().hooks->fence(unit);
}
[[gnu::always_inline]] inline void clean_modelled([[maybe_unused]] GmUnit unit, [[maybe_unused]] const void* p) {
    if constexpr (Policy::kChecksWords) current_core().hooks->clean(unit, p);
}

}  // namespace ascend_deepep::twin
