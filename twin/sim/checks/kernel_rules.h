// SPDX-License-Identifier: Apache-2.0
// Checker "kernel rules": kernels keep the subset's rules (twin/runtime/rules.h), access GM that their launch may
// access (the own window, the workspace and queue tables, the tensors with their exact sizes), and a host's call does
// not throw for any other reason. The twin refuses such an access or call by an exception, which the launch hands to
// the host: its text is the finding. Layer: twin/sim. It does not say whether the bytes of a legal access were written,
// or are the right ones: that is for "unwritten" and "results"; and it knows the rules of the subset that the twin
// checks, not all that a device asks for.
#pragma once

#include <string>

namespace ascend_deepep::sim {

// `error`: what the host of the process ended with; empty: it is done.
inline std::string kernel_fault(uint32_t process, const std::string& error) {
    return error.empty() ? "" : "rank " + std::to_string(process) + ": " + error;
}

}  // namespace ascend_deepep::sim
