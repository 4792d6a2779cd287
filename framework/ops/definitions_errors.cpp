// SPDX-License-Identifier: Apache-2.0
//
// Raises typed Python exceptions: sets the Python error and throws pybind11's error_already_set, which torch's own
// binding turns back into the error. Layer: framework.
// The headers must be the pybind11 that torch bundles: the thrown object is read by torch's code, not by ours.
#include "framework/ops/errors.h"

#include <pybind11/pybind11.h>

namespace ascend_deepep::ops {
namespace {

namespace py = pybind11;

py::object number_or_none(int64_t value) {
    return value < 0 ? py::object(py::none()) : py::object(py::int_(value));
}

py::object text_or_none(const std::string& text) {
    return text.empty() ? py::object(py::none()) : py::object(py::str(text));
}

py::object make_error(const std::string& class_name, const std::string& message, const ErrorAttributes& attributes) {
    if (class_name == "NotImplementedError") return py::module_::import("builtins").attr(class_name.c_str())(message);
    py::object error = py::module_::import("ascend_deepep.errors").attr(class_name.c_str())(message);
    error.attr("rank") = number_or_none(attributes.rank);
    error.attr("root") = number_or_none(attributes.root);
    error.attr("stage") = text_or_none(attributes.stage);
    error.attr("operation") = text_or_none(attributes.operation);
    error.attr("seconds") =
        attributes.seconds < 0.0 ? py::object(py::none()) : py::object(py::float_(attributes.seconds));
    return error;
}

}  // namespace

void raise_error(const std::string& class_name, const std::string& message, const ErrorAttributes& attributes) {
    const py::gil_scoped_acquire gil;
    if (PyErr_Occurred() == nullptr && PyErr_CheckSignals() == 0) {
        const py::object error = make_error(class_name, message, attributes);
        PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
    }
    throw py::error_already_set();
}

ReleasedGil::ReleasedGil() : thread_state_(PyGILState_Check() != 0 ? PyEval_SaveThread() : nullptr) {}

ReleasedGil::~ReleasedGil() {
    if (thread_state_ != nullptr) PyEval_RestoreThread(static_cast<PyThreadState*>(thread_state_));
}

}  // namespace ascend_deepep::ops
