// SPDX-License-Identifier: Apache-2.0
//
// dlopen and dlsym. Layer: framework, devices.
#include "framework/npu/library.h"

#include <dlfcn.h>

namespace ascend_deepep::npu {

// It stays open: its functions are in use until the process ends.
Library::Library(const char* file, std::string advice)
    : file_(file), advice_(std::move(advice)), handle_(::dlopen(file, RTLD_NOW | RTLD_GLOBAL)) {
    if (handle_ == nullptr) throw DeviceError(std::string(::dlerror()) + "; " + advice_);
}

void* Library::symbol(const char* name) {
    void* found = ::dlsym(handle_, name);
    if (found == nullptr) missing_.emplace_back(name);
    return found;
}

void Library::require_all() const {
    if (missing_.empty()) return;
    std::string names;
    for (const std::string& name : missing_)
        names += (names.empty() ? "" : ", ") + name;
    throw DeviceError(file_ + " lacks " + names + "; " + advice_);
}

}  // namespace ascend_deepep::npu
