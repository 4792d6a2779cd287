// SPDX-License-Identifier: Apache-2.0
//
// The functions of torch_npu that framework/npu/ops calls, over a task queue that a test runs. Layer: tests.
#ifndef ASCEND_DEEPEP_TESTS_PYTHON_OPS_NPU_DEVICE_FAKE_TORCH_NPU_H
#define ASCEND_DEEPEP_TESTS_PYTHON_OPS_NPU_DEVICE_FAKE_TORCH_NPU_H

#include <string>

namespace fake {

// What happened in the process, for the test to read.
void log(const std::string& line);

}  // namespace fake

#endif  // ASCEND_DEEPEP_TESTS_PYTHON_OPS_NPU_DEVICE_FAKE_TORCH_NPU_H
