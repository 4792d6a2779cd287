// SPDX-License-Identifier: Apache-2.0
// Errors of the host twin: what a kernel did, which rule of the AscendC subset it broke, the value and the limit.
// Layer: twin/runtime. Included by the kernel-side headers (C++17), so it stays small.
// A fault raised on a SIMT thread is carried to the core's own stack before anything is formatted or thrown:
// SIMT stacks are 8 KiB.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "twin/runtime/rules.h"

namespace ascend_deepep::twin {

// Where a SIMT operation stands in the kernel source; a defaulted argument of the asc_* functions.
struct SourceSite {
    const char* file;
    int line;
    static constexpr SourceSite here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
        return {file, line};
    }
};

// Everything about one broken rule, as plain data: literals and numbers only.
struct FaultInfo {
    const char* operation;  // "DataCopy", "WaitFlag", "asc_syncthreads"
    const Rule* rule;
    uint64_t value;      // what the kernel did, shown as a signed number
    uint64_t limit;      // what the rule allows, the same
    const char* advice;  // what to change
    SourceSite site = {nullptr, 0};
    const void* address = nullptr;  // where it is the address that tells what happened
};

class __attribute__((visibility("default"))) KernelFault : public std::runtime_error {
  public:
    KernelFault(int core_index, const char* kernel_name, const FaultInfo& info);
    int core() const { return core_; }
    const FaultInfo& info() const { return info_; }

  private:
    int core_;
    FaultInfo info_;
};

// Ends the running core with a KernelFault. Callable from kernel, SIMT and runtime code.
[[noreturn]] __attribute__((cold)) void raise_fault(const FaultInfo& info);

// The same with what most rules need, in registers: a call of it is the smallest there is.
[[noreturn]] __attribute__((cold)) void refuse(const Rule& rule, const char* operation, uint64_t value, uint64_t limit,
                                               const char* advice);

// The accessors' form: one compare in line, the rest out of line and cold.
inline void require(bool holds, const Rule& rule, const char* operation, uint64_t value, uint64_t limit,
                    const char* advice) {
    if (__builtin_expect(!holds, 0)) {
        refuse(rule, operation, value, limit, advice);
    }
}

}  // namespace ascend_deepep::twin
