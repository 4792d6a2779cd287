// SPDX-License-Identifier: Apache-2.0
//
// Statuses as typed Python exceptions (ascend_deepep.errors). Layer: framework, the Python binding.
#ifndef ASCEND_DEEPEP_FRAMEWORK_BINDING_ERRORS_H
#define ASCEND_DEEPEP_FRAMEWORK_BINDING_ERRORS_H

#include <pybind11/pybind11.h>

#include "contract/window_layout.h"
#include "framework/runtime/communicator.h"

namespace ascend_deepep::binding {

namespace py = pybind11;

// Needs the interpreter lock.
[[noreturn]] void raise_status(const op_host::Status& status);
void raise_if_bad(const op_host::Status& status);

// The limits themselves, or the exception that says what is illegal in them.
CommunicatorLimits checked(const CommunicatorLimits& limits);

// Runs `body`, which may release the lock inside; its CommunicatorError becomes the typed exception.
template <typename Body>
auto with_errors(Body body) {
    try {
        return body();
    } catch (const CommunicatorError& error) {
        raise_status(error.status);
    }
}

}  // namespace ascend_deepep::binding

#endif  // ASCEND_DEEPEP_FRAMEWORK_BINDING_ERRORS_H
