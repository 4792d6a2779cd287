// SPDX-License-Identifier: Apache-2.0
// Counting looks at one word. Layer: twin/runtime.
#include "twin/runtime/polling.h"

namespace ascend_deepep::twin {

void note_repeated_look(Core& core, const char* operation, const void* word, uint64_t value) {
    Looks& looks = core.looks;
    if (looks.word != word || looks.value != value) {
        looks = {word, value, 0, 0};
        return;
    }
    looks.others = 0;
    if (++looks.repeats > kMaxLooks) {
        raise_fault({operation,
                     &rules::kPollOutsideWait,
                     looks.repeats,
                     kMaxLooks,
                     "poll by Wait::go_on of protocol/wait.h, which gives way",
                     {nullptr, 0},
                     word});
    }
}

}  // namespace ascend_deepep::twin
