// SPDX-License-Identifier: Apache-2.0
// Wording and raising of kernel faults.
// Layer: twin/runtime.
#include "twin/runtime/kernel_fault.h"

#include <cstdio>

#include "twin/runtime/launch_state.h"
#include "twin/runtime/simt.h"

namespace ascend_deepep::twin {

namespace {

std::string signed_text(uint64_t number) {
    return std::to_string(static_cast<int64_t>(number));
}

std::string describe(int core_index, const char* kernel_name, const FaultInfo& info) {
    std::string text = kernel_name;
    text += ", core " + std::to_string(core_index) + ": " + info.operation;
    text += std::string(": [") + info.rule->name + "] " + info.rule->text;
    text += " (got " + signed_text(info.value) + ", limit " + signed_text(info.limit) + ")";
    if (info.address != nullptr) {
        char address[32];
        std::snprintf(address, sizeof(address), ", address %p", info.address);
        text += address;
    }
    if (info.site.file != nullptr) {
        text += std::string(" at ") + info.site.file + ":" + std::to_string(info.site.line);
    }
    return text + "; " + info.advice;
}

}  // namespace

KernelFault::KernelFault(int core_index, const char* kernel_name, const FaultInfo& info)
    : std::runtime_error(describe(core_index, kernel_name, info)), core_(core_index), info_(info) {}

void raise_fault(const FaultInfo& info) {
    if (current_simt_pointer != nullptr) {
        current_simt_pointer->abandon(info);
    }
    const Core* core = current_core_pointer;
    if (core == nullptr) {
        throw KernelFault(-1, "outside a launch", info);
    }
    throw KernelFault(core->index, core->launch->config.kernel_name, info);
}

void refuse(const Rule& rule, const char* operation, uint64_t value, uint64_t limit, const char* advice) {
    raise_fault({operation, &rule, value, limit, advice});
}

}  // namespace ascend_deepep::twin
