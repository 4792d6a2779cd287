// SPDX-License-Identifier: Apache-2.0
//
// Traces of calls as lists of tuples (python/ascend_deepep/_runtime.pyi has their fields). Layer: framework, binding.
#ifndef ASCEND_DEEPEP_FRAMEWORK_BINDING_TRACE_H
#define ASCEND_DEEPEP_FRAMEWORK_BINDING_TRACE_H

#include <pybind11/pybind11.h>

#include "framework/runtime/communicator.h"

namespace ascend_deepep::binding {

void start_trace(Communicator& communicator, uint64_t max_events);
pybind11::dict stop_trace(Communicator& communicator);

}  // namespace ascend_deepep::binding

#endif  // ASCEND_DEEPEP_FRAMEWORK_BINDING_TRACE_H
