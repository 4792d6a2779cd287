// SPDX-License-Identifier: Apache-2.0
//
// CANN's log function has had several headers over the releases and one signature, so it is declared here, weakly: the
// tiling also runs where the log library is not loaded. Layer: op_host/cann.
#include "op_host/cann/log.h"

#include <cstdint>
#include <cstdio>

extern "C" __attribute__((weak)) void DlogRecord(int32_t module, int32_t level, const char* format, ...);

namespace ascend_deepep::cann {
namespace {

constexpr int32_t kOperatorModule = 63;
constexpr int32_t kErrorLevel = 3;

}  // namespace

void log_error(const char* node, const std::string& message) {
    const char* name = node != nullptr ? node : "operator";
    if (DlogRecord != nullptr) {
        DlogRecord(kOperatorModule, kErrorLevel, "[ascend_deepep] %s: %s\n", name, message.c_str());
    } else {
        std::fprintf(stderr, "[ascend_deepep] %s: %s\n", name, message.c_str());
    }
}

}  // namespace ascend_deepep::cann
