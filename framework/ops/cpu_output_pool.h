// SPDX-License-Identifier: Apache-2.0
//
// Memory for output tensors, reused after the last tensor on it is gone: first touch of fresh pages is the slowest
// thing on a host. Layer: framework.
// A block comes back through the deleter of its storage, which torch calls when no tensor, view or buffer holds it any
// more; so a block that anybody can still read is never handed out again. At most kMaxIdleBytes of touched memory
// wait for reuse, the oldest blocks are freed first. Storages of this kind cannot be resized (Tensor.resize_ beyond
// their size is an error).
#ifndef ASCEND_DEEPEP_FRAMEWORK_OPS_CPU_OUTPUT_POOL_H
#define ASCEND_DEEPEP_FRAMEWORK_OPS_CPU_OUTPUT_POOL_H

#include <torch/csrc/stable/tensor.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>

namespace ascend_deepep::ops {

constexpr size_t kMinPooledBytes = size_t{128} << 10;  // below, malloc keeps the pages itself
constexpr size_t kMaxIdleBytes = size_t{1} << 30;      // per process

// An uninitialised CPU tensor, contiguous, of one or two dimensions. `dtype` is torch's code (aoti_torch_dtype_*).
torch::stable::Tensor make_output(std::initializer_list<int64_t> shape, int32_t dtype);

// Bytes of touched memory that wait for reuse.
size_t idle_output_bytes();

}  // namespace ascend_deepep::ops

#endif  // ASCEND_DEEPEP_FRAMEWORK_OPS_CPU_OUTPUT_POOL_H
