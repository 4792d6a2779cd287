// SPDX-License-Identifier: Apache-2.0
//
// The host functions of aclshmem that an endpoint uses, as a table: libshmem.so fills it, tests bring their own.
// Layer: framework, devices. Structures are those of its public headers, by size and offset.
#ifndef ASCEND_DEEPEP_FRAMEWORK_NPU_SHMEM_H
#define ASCEND_DEEPEP_FRAMEWORK_NPU_SHMEM_H

#include <cstddef>
#include <cstdint>

#include "framework/npu/library.h"

namespace ascend_deepep::npu {

// Made by rank 0, the same on all ranks.
struct ShmemUniqueId {
    int32_t version;
    int32_t rank;
    int32_t num_ranks;
    char internal[124];
};
static_assert(sizeof(ShmemUniqueId) == 136, "as published");

struct ShmemAttributes {
    int32_t rank;
    int32_t num_ranks;
    char address[64];
    uint64_t heap_bytes;
    int32_t options_version;  // 1 << 16 | bytes of the options
    uint32_t engines;
    uint32_t init_timeout_s;
    uint32_t create_timeout_s;
    uint32_t control_timeout_s;
    int32_t socket;
    void* bootstrap;
    uint64_t instance;  // newer releases
};
static_assert(offsetof(ShmemAttributes, options_version) == 80 && offsetof(ShmemAttributes, bootstrap) == 104,
              "as published");
constexpr int32_t kShmemOptionsVersion = (1 << 16) + 24;

struct Shmem {
    int (*init_status)();                     // aclshmemx_init_status
    int (*get_unique_id)(ShmemUniqueId* id);  // aclshmemx_get_uniqueid
    int (*set_unique_id)(int rank, int num_ranks, int64_t heap_bytes, ShmemUniqueId* id,
                         ShmemAttributes* attributes);                      // aclshmemx_set_attr_uniqueid_args
    int32_t (*set_tls)(bool is_on, const char* info, uint32_t info_bytes);  // aclshmemx_set_conf_store_tls
    int (*init)(uint32_t flags, ShmemAttributes* attributes);               // aclshmemx_init_attr: collective
    int (*finalize)();                                                      // aclshmem_finalize: collective
    void* (*malloc)(size_t bytes);                                          // aclshmem_malloc: collective
    void (*free)(void* memory);                                             // aclshmem_free
    void* (*address_of)(void* memory, int rank);                            // aclshmem_ptr
};

constexpr int kShmemInitialized = 2;
constexpr uint32_t kShmemInitUniqueId = 8;
constexpr uint32_t kShmemEngineMte = 1;
constexpr uint32_t kShmemEngineUdma = 8;
constexpr uint64_t kShmemHeapUnit = uint64_t{2} << 20;  // heaps are multiples of it
constexpr uint64_t kShmemMaxHeap = uint64_t{40} << 30;  // of one rank

// The library of this process; opened by the first caller. Throws DeviceError.
const Shmem& shmem_library();

// Throws DeviceError naming function and code.
void require_shmem(int code, const char* function);

}  // namespace ascend_deepep::npu

#endif  // ASCEND_DEEPEP_FRAMEWORK_NPU_SHMEM_H
