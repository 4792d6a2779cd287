// SPDX-License-Identifier: Apache-2.0
// Values of Python as the simulator takes them, and the other way round. Layer: simulator.
#pragma once

#include <pybind11/pybind11.h>

#include <string>
#include <vector>

#include "simulator/scenario/runner.h"

namespace ascend_deepep::simulator {

inline sim::Assumptions assumptions_without(const std::vector<std::string>& drop) {
    sim::Assumptions assumptions;
    for (const std::string& name : drop) {
        if (!sim::drop_switch(name, &assumptions)) throw pybind11::value_error("no switch is named '" + name + "'");
    }
    return assumptions;
}

// Pairs of checker and text.
inline pybind11::list finding_list(const std::vector<sim::Finding>& findings) {
    pybind11::list list;
    for (const sim::Finding& finding : findings)
        list.append(pybind11::make_tuple(finding.checker, finding.what));
    return list;
}

}  // namespace ascend_deepep::simulator
