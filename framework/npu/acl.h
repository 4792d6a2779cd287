// SPDX-License-Identifier: Apache-2.0
//
// The functions of the ACL runtime that a communicator uses, as a table: libascendcl.so fills it, tests bring their
// own. Layer: framework, devices. Signatures are those of the headers that CANN and torch_npu ship (kSameCall compares
// them).
#ifndef ASCEND_DEEPEP_FRAMEWORK_NPU_ACL_H
#define ASCEND_DEEPEP_FRAMEWORK_NPU_ACL_H

#include <cstddef>
#include <cstdint>

#include "framework/npu/library.h"

namespace ascend_deepep::npu {

struct Acl {
    int (*malloc)(void** memory, size_t bytes, uint32_t policy);                              // aclrtMalloc
    int (*free)(void* memory);                                                                // aclrtFree
    int (*malloc_host)(void** memory, size_t bytes);                                          // aclrtMallocHost: pinned
    int (*free_host)(void* memory);                                                           // aclrtFreeHost
    int (*memcpy)(void* to, size_t to_bytes, const void* from, size_t bytes, uint32_t kind);  // aclrtMemcpy
    int (*memcpy_async)(void* to, size_t to_bytes, const void* from, size_t bytes, uint32_t kind,
                        void* stream);                                              // aclrtMemcpyAsync
    int (*memset)(void* memory, size_t memory_bytes, int32_t value, size_t bytes);  // aclrtMemset
    int (*create_event)(void** event, uint32_t flags);                              // aclrtCreateEventExWithFlag
    int (*destroy_event)(void* event);                                              // aclrtDestroyEvent
    int (*record_event)(void* event, void* stream);                                 // aclrtRecordEvent
    int (*query_event)(void* event, uint32_t* status);                              // aclrtQueryEventStatus
    int (*stream_wait_event)(void* stream, void* event);                            // aclrtStreamWaitEvent
    int (*create_stream)(void** stream);                                            // aclrtCreateStream
    int (*destroy_stream)(void* stream);                                            // aclrtDestroyStreamForce
    int (*synchronize_stream)(void* stream, int32_t timeout_ms);                    // aclrtSynchronizeStreamWithTimeout
    int (*get_device)(int32_t* device);                                             // aclrtGetDevice
    int (*set_device)(int32_t device);                                              // aclrtSetDevice
    int (*get_device_info)(uint32_t device, uint32_t attribute, int64_t* value);    // aclrtGetDeviceInfo
    int (*capture_info)(void* stream, uint32_t* status, void** graph);              // aclmdlRICaptureGetInfo
    int (*exchange_capture_mode)(uint32_t* mode);                                   // aclmdlRICaptureThreadExchangeMode
    const char* (*recent_error)();                                                  // aclGetRecentErrMsg
};

// Values of the runtime's enumerations.
constexpr int kAclSuccess = 0;
constexpr int kAclStreamTimeout = 507046;
constexpr uint32_t kMallocHugeFirst = 0;
constexpr uint32_t kHostToDevice = 1;
constexpr uint32_t kDeviceToHost = 2;
constexpr uint32_t kEventSync = 1;
constexpr uint32_t kEventComplete = 1;
constexpr uint32_t kVectorCores = 201;
constexpr uint32_t kCaptureActive = 1;
constexpr uint32_t kCaptureRelaxed = 2;

// The runtime of this process; opened by the first caller. Throws DeviceError.
const Acl& acl_runtime();

// Throws DeviceError naming function, code and what the runtime says of it.
void require_acl(const Acl& acl, int code, const char* function);

// While a graph is recorded on this thread: calls that a recording forbids by default (allocations, event queries) do
// not spoil it. Otherwise nothing.
class RelaxedCapture {
  public:
    RelaxedCapture(const Acl& acl, bool is_capturing);
    ~RelaxedCapture();
    RelaxedCapture(const RelaxedCapture&) = delete;
    RelaxedCapture& operator=(const RelaxedCapture&) = delete;

  private:
    const Acl& acl_;
    bool is_capturing_;
    uint32_t mode_ = kCaptureRelaxed;
};

}  // namespace ascend_deepep::npu

#endif  // ASCEND_DEEPEP_FRAMEWORK_NPU_ACL_H
