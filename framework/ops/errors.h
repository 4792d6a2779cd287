// SPDX-License-Identifier: Apache-2.0
//
// Typed Python exceptions out of C++ kernels, and the interpreter lock around calls that block. Layer: framework.
// Exported by libascend_deepep_ops.so; the one unit behind it is the only one that sees Python's headers.
#ifndef ASCEND_DEEPEP_FRAMEWORK_OPS_ERRORS_H
#define ASCEND_DEEPEP_FRAMEWORK_OPS_ERRORS_H

#include <cstdint>
#include <string>

#include "framework/ops/arguments.h"

namespace ascend_deepep::ops {

// Attributes of a DeepEPError; a negative number or an empty text becomes None.
struct ErrorAttributes {
    int64_t rank = -1;
    int64_t root = -1;
    std::string stage;
    std::string operation;
    double seconds = -1.0;
};

// Raises `class_name` (of ascend_deepep.errors, or the builtin NotImplementedError) in the Python code that called the
// operator. A pending Python error or signal, such as Ctrl-C, goes first. Takes the interpreter lock itself.
[[noreturn]] ASCEND_DEEPEP_OPS_EXPORT void raise_error(const std::string& class_name, const std::string& message,
                                                       const ErrorAttributes& attributes);

// Lets other Python threads run during its lifetime, if this thread holds the interpreter lock.
class ASCEND_DEEPEP_OPS_EXPORT ReleasedGil {
  public:
    ReleasedGil();
    ~ReleasedGil();
    ReleasedGil(const ReleasedGil&) = delete;
    ReleasedGil& operator=(const ReleasedGil&) = delete;

  private:
    void* thread_state_;
};

}  // namespace ascend_deepep::ops

#endif  // ASCEND_DEEPEP_FRAMEWORK_OPS_ERRORS_H
