// SPDX-License-Identifier: Apache-2.0
//
// Bytes of a configuration, for Python. Layer: framework, the Python binding.
#ifndef ASCEND_DEEPEP_FRAMEWORK_BINDING_SIZES_H
#define ASCEND_DEEPEP_FRAMEWORK_BINDING_SIZES_H

#include <pybind11/pybind11.h>

namespace ascend_deepep::binding {

// Adds `footprint`.
void bind_footprint(pybind11::module_& module);

}  // namespace ascend_deepep::binding

#endif  // ASCEND_DEEPEP_FRAMEWORK_BINDING_SIZES_H
