// SPDX-License-Identifier: Apache-2.0
//
// Stand-in (tools/cann_headers/README.md): the context of a tiling function.
#ifndef ASCEND_DEEPEP_CANN_HEADERS_TILING_CONTEXT_H
#define ASCEND_DEEPEP_CANN_HEADERS_TILING_CONTEXT_H

#include "exe_graph/runtime/extended_kernel_context.h"

namespace gert {

class TilingContext : public ExtendedKernelContext {
  public:
    using ExtendedKernelContext::ExtendedKernelContext;
    const StorageShape* GetOptionalInputShape(const size_t ir_index) const {
        const stand_in::Tensor* tensor = input(ir_index);
        return tensor == nullptr ? nullptr : &tensor->shape;
    }
    const StorageShape* GetOutputShape(const size_t index) const {
        return index < values_.outputs.size() ? &values_.outputs[index].shape : nullptr;
    }
    ge::graphStatus SetTilingKey(const uint64_t tiling_key) { return set(values_.tiling_key, tiling_key); }
    ge::graphStatus SetBlockDim(const uint32_t block_dim) { return set(values_.block_dim, block_dim); }
    ge::graphStatus SetLocalMemorySize(const uint32_t local_memory_size) {
        return set(values_.local_memory_bytes, local_memory_size);
    }
    ge::graphStatus SetScheduleMode(const uint32_t schedule_mode) { return set(values_.schedule_mode, schedule_mode); }
    size_t* GetWorkspaceSizes(const size_t workspace_count) {
        values_.workspaces.resize(workspace_count);
        return values_.workspaces.data();
    }
    // Null when the buffer is smaller than T.
    template <typename T>
    T* GetTilingData() {
        if (values_.tiling_data.size() < sizeof(T)) return nullptr;
        values_.tiling_bytes = sizeof(T);
        return reinterpret_cast<T*>(values_.tiling_data.data());
    }

  private:
    template <typename T>
    static ge::graphStatus set(T& place, T value) {
        place = value;
        return ge::GRAPH_SUCCESS;
    }
};

}  // namespace gert

#endif  // ASCEND_DEEPEP_CANN_HEADERS_TILING_CONTEXT_H
