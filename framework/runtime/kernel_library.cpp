// SPDX-License-Identifier: Apache-2.0
//
// dlopen of the kernels. Layer: framework.
#include "framework/runtime/kernel_library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <map>
#include <mutex>

#include "twin/fabric/system_error.h"
#include "twin/runtime/cpu.h"

namespace ascend_deepep {
namespace {

std::string own_directory() {
    Dl_info info{};
    if (::dladdr(reinterpret_cast<const void*>(&kernel_table), &info) == 0 || info.dli_fname == nullptr) {
        throw twin::FabricSetupError("the directory of libascend_deepep_runtime.so cannot be found");
    }
    const std::string path = info.dli_fname;
    const size_t slash = path.find_last_of('/');
    return slash == std::string::npos ? "." : path.substr(0, slash);
}

// Of the modules of a policy, the one for the newest instruction set that this CPU has.
const char* isa_suffix([[maybe_unused]] const std::string& policy) {
#if defined(ASCEND_DEEPEP_KERNELS_X86_64_V3)
    if (policy == "fast" && twin::cpu_has_x86_64_v3()) return "_x86_64_v3";
#endif
    return "";
}

std::string library_path(const std::string& policy) {
    const char* named = std::getenv("ASCEND_DEEPEP_KERNELS");
    if (named != nullptr && *named != '\0') return named;
    return own_directory() + "/libascend_deepep_kernels_" + policy + isa_suffix(policy) + ".so";
}

const twin::KernelTable* open_table(const std::string& path) {
    void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw twin::FabricSetupError(std::string("the kernels cannot be loaded: ") + ::dlerror());
    using TableFunction = const twin::KernelTable* (*)();
    const auto function = reinterpret_cast<TableFunction>(::dlsym(library, "ascend_deepep_kernel_table"));
    if (function == nullptr) throw twin::FabricSetupError(path + " holds no ascend_deepep_kernel_table");
    const twin::KernelTable* table = function();
    if (table->abi != twin::kKernelTableAbi) {
        throw twin::FabricSetupError(path + " has kernel table ABI " + std::to_string(table->abi) + ", expected " +
                                     std::to_string(twin::kKernelTableAbi) + "; rebuild it with this library");
    }
    return table;
}

}  // namespace

const twin::KernelTable& kernel_table(const std::string& policy) {
    static std::mutex mutex;
    static std::map<std::string, const twin::KernelTable*> tables;
    const std::string path = library_path(policy);
    const std::lock_guard<std::mutex> lock(mutex);
    const twin::KernelTable*& table = tables[path];
    if (table == nullptr) table = open_table(path);
    return *table;
}

}  // namespace ascend_deepep
