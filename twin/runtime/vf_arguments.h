// SPDX-License-Identifier: Apache-2.0
// The warning about a SIMT function with more arguments than registers carry. Layer: twin/runtime. The device takes
// such a call too, by way of UB, so it is no fault: one line on stderr for each function, at its first call.
#pragma once

#include <cstdint>

namespace ascend_deepep::twin {

constexpr uint32_t kMaxVfArgumentWords = 26;  // of 32 bits; a pointer or 64-bit value takes two

// `pretty` is the __PRETTY_FUNCTION__ of a template whose first argument is the function.
void warn_vf_arguments(const char* pretty, uint32_t words);

}  // namespace ascend_deepep::twin
