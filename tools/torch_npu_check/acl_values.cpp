// SPDX-License-Identifier: Apache-2.0
//
// Values that framework/npu/acl.h spells out are those of ACL's enumerations and macros. Compiled, never run.
// Layer: build.
#include <acl/acl.h>

#include "framework/npu/acl.h"

using namespace ascend_deepep::npu;

static_assert(kAclSuccess == ACL_SUCCESS);
static_assert(kAclStreamTimeout == ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
static_assert(kMallocHugeFirst == ACL_MEM_MALLOC_HUGE_FIRST);
static_assert(kHostToDevice == ACL_MEMCPY_HOST_TO_DEVICE);
static_assert(kDeviceToHost == ACL_MEMCPY_DEVICE_TO_HOST);
static_assert(kEventSync == ACL_EVENT_SYNC);
static_assert(kEventComplete == ACL_EVENT_RECORDED_STATUS_COMPLETE);
static_assert(kVectorCores == ACL_DEV_ATTR_VECTOR_CORE_NUM);
static_assert(kCaptureActive == ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE);
static_assert(kCaptureRelaxed == ACL_MODEL_RI_CAPTURE_MODE_RELAXED);
