// SPDX-License-Identifier: Apache-2.0
//
// The file a function was loaded from: tells our own library from another copy of it. Layer: framework.
#ifndef ASCEND_DEEPEP_FRAMEWORK_OPS_LIBRARY_PATH_H
#define ASCEND_DEEPEP_FRAMEWORK_OPS_LIBRARY_PATH_H

#include <dlfcn.h>

#include <string>

namespace ascend_deepep::ops {

// Empty when no library holds `function`.
template <typename Function>
std::string library_path_of(Function* function) {
    Dl_info info{};
    return dladdr(reinterpret_cast<const void*>(function), &info) != 0 ? info.dli_fname : "";
}

}  // namespace ascend_deepep::ops

#endif  // ASCEND_DEEPEP_FRAMEWORK_OPS_LIBRARY_PATH_H
