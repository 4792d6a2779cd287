// SPDX-License-Identifier: Apache-2.0
//
// Making and raising the exceptions. The classes are Python's own, looked up when they are needed. Layer: framework.
#include "framework/binding/errors.h"

#include "framework/runtime/status_payload.h"
#include "op_host/check.h"
#include "op_host/roles.h"

namespace ascend_deepep::binding {
namespace {

py::object number_or_none(int64_t value) {
    return value < 0 ? py::object(py::none()) : py::object(py::int_(value));
}

py::object text_or_none(const std::string& text) {
    return text.empty() ? py::object(py::none()) : py::object(py::str(text));
}

py::object make_error(const StatusPayload& payload) {
    if (payload.class_name == "NotImplementedError") {
        return py::module_::import("builtins").attr("NotImplementedError")(payload.message);
    }
    const py::object seconds = payload.seconds < 0 ? py::object(py::none()) : py::object(py::float_(payload.seconds));
    return py::module_::import("ascend_deepep.errors")
        .attr(payload.class_name.c_str())(
            payload.message, py::arg("rank") = number_or_none(payload.rank),
            py::arg("root") = number_or_none(payload.root), py::arg("stage") = text_or_none(payload.stage),
            py::arg("operation") = text_or_none(payload.operation), py::arg("seconds") = seconds);
}

}  // namespace

void raise_status(const op_host::Status& status) {
    const py::object error = make_error(status_payload(status));
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
    throw py::error_already_set();
}

void raise_if_bad(const op_host::Status& status) {
    if (!status.ok()) raise_status(status);
}

CommunicatorLimits checked(const CommunicatorLimits& limits) {
    raise_if_bad(op_host::check_limits(limits, default_cores(), 0));
    return limits;
}

}  // namespace ascend_deepep::binding
