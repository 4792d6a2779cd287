// SPDX-License-Identifier: Apache-2.0
// Checks that something was refused as a breach of one rule of the AscendC subset, by the rule's name. Layer: tests.
#pragma once

#include <cstring>
#include <string>

#include "tests/cpp/check.h"
#include "twin/runtime/kernel_fault.h"

namespace ascend_deepep::check {

// Runs body; it must throw a KernelFault of `rule`, and the message must carry the rule's name in brackets.
template <typename Body>
void check_refused(const twin::Rule& rule, Body body, const char* file, int line) {
    const std::string mark = std::string("[") + rule.name + "] ";
    try {
        body();
    } catch (const twin::KernelFault& fault) {
        if (std::strcmp(fault.info().rule->name, rule.name) != 0 ||
            std::strstr(fault.what(), mark.c_str()) == nullptr) {
            fail(file, line, "refused, but not as " + mark + ": " + fault.what());
        }
        return;
    } catch (const std::exception& error) {
        fail(file, line, std::string("another exception: ") + error.what());
        return;
    }
    fail(file, line, "not refused; wanted " + mark);
}

}  // namespace ascend_deepep::check

#define CHECK_REFUSED(rule, ...) ascend_deepep::check::check_refused((rule), [&] { __VA_ARGS__; }, __FILE__, __LINE__)
